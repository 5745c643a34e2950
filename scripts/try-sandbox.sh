# Runs a repository's tests in a sandbox of the journeyman on PATH: sh -s <scripts/try-sandbox.sh
set -e
place=$(mktemp -d)
cd "$place" && mkdir .github && git init -q .
printf 'def add(a, b):\n    return a + b\n' >sums.py
printf 'import unittest, sums\nclass T(unittest.TestCase):\n    def test_add(self): self.assertEqual(sums.add(1, 2), 3)\n' >test_sums.py
printf 'test: python3 -m unittest\n' >.github/journeyman.yml
git add -A && git -c user.name=a -c user.email=a@example.org commit -qm 'Sums'
HOME="$place" journeyman environment --repo .
