check 'the median of one value is that value' "$(sh median.sh 7)" 7
check 'the median of an odd number of values is the middle one' "$(sh median.sh 9 1 5)" 5
