"""Runs unittest as `python -m unittest` does, and writes the result of each test, one JSON object a line."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def write(what):
    with open(HERE[: -len("-helper")], "a", encoding="utf-8", errors="backslashreplace") as report:
        report.write(json.dumps(what) + "\n")


class Result(unittest.TextTestResult):
    """What unittest prints stays as it is; each test's own result is written when it stops."""

    own_end = None

    def startTest(self, test):
        self.own_end = "passed"
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        write({"test": {"name": test.id(), "status": self.own_end}})
        self.own_end = None

    def note_failure(self, test):
        if isinstance(test, unittest.loader._FailedTest):
            write({"unloaded": test.id()})
        if isinstance(test, unittest.suite._ErrorHolder):
            # A fixture of a class or a module, which is no test.
            write({"failed": test.id()})
        else:
            self.own_end = "failed"

    def addError(self, test, err):
        self.note_failure(test)
        super().addError(test, err)

    def addFailure(self, test, err):
        self.note_failure(test)
        super().addFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.note_failure(test)
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.own_end = "failed"
        super().addSubTest(test, subtest, err)

    def note_skip(self, test):
        if self.own_end != "failed" and not isinstance(test, unittest.suite._ErrorHolder):
            self.own_end = "skipped"

    def addSkip(self, test, reason):
        self.note_skip(test)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.note_skip(test)
        super().addExpectedFailure(test, err)


class Runner(unittest.TextTestRunner):
    resultclass = Result


# Processes that a test starts load this file as well.
if __name__ == "__main__":
    write({"runner": "unittest"})
    sys.path[0] = os.getcwd()
    sys.argv[0] = os.path.basename(sys.executable) + " -m unittest"
    unittest.main(module=None, testRunner=Runner)
