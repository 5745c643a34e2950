# Eight tests in TAP; those fail whose numbers are in answer.txt after its first word.
read -r verdict failing < answer.txt
echo "1..8"
status=0
number=0
for name in adds divides joins orders reads rounds splits writes; do
  number=$((number + 1))
  case " $failing " in
    *" $number "*)
      echo "not ok $number - $name"
      echo "# $name: the answer is $verdict"
      status=1
      ;;
    *) echo "ok $number - $name" ;;
  esac
done
exit $status
