# Runs tests/cases.sh and prints TAP.
number=0 failed=0
check() { # what it is about, what comes out, what is expected
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# expected $3, found $2"
        failed=1
    fi
}
. tests/cases.sh
echo "1..$number"
exit $failed
