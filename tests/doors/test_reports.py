from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree.ElementTree import fromstring

import pytest
from doors import stand_in_engine

from flake8_torchmp.findings import Finding, Step
from flake8_torchmp.options import OPTIONS
from flake8_torchmp.reports import Context, fingerprints, named, names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SOURCES = {
    "train.py": "import x\nloader = DataLoader(ds, collate_fn=lambda b: b)\n",
    "a b/ä.py": "\tx = '漢', f(lambda:\n\t\t0)\n",
}
LONG_WAY = (Step("transforms.py", 12, "lambda"), Step("train.py", 2, "DataLoader(collate_fn=)"))
FINDINGS = (
    Finding("a b/ä.py", 1, 12, "TMP902", "50% slower, a:b", 2, 3),
    Finding("train.py", 2, 35, "TMP301", "lambda reaches a worker", 2, 46, rule="lambda-to-worker", way=LONG_WAY),
)
PROBLEMS = (("broken.py", "cannot be parsed: line 1: invalid syntax"),)


def _report(name: str, findings: Sequence[Finding] = FINDINGS, **changes: Any) -> str:
    context = Context(
        "1.2.3",
        lambda path: SOURCES[path].split("\n") if path in SOURCES else [],
        lambda: stand_in_engine.RULES,
        PROBLEMS,
    )._replace(**changes)
    report = named(name)
    assert report
    stream = io.StringIO()
    report.write(findings, stream, context)
    return stream.getvalue()


def test_formats_are_the_modules_that_are_there() -> None:
    assert names() == ("concise", "full", "github", "gitlab", "json", "junit", "sarif")
    assert all(named(name) for name in names())
    help_text = next(option.help for option in OPTIONS if option.name == "format")
    assert set(names()) == set(re.findall(r"\w+", help_text.partition(": ")[2])) - {"or"}
    assert not any(named(name) for name in ("", "pretty", "_x", "os.path", "../x"))


@pytest.mark.parametrize("name", names())
def test_every_format_can_report_nothing_and_much(name: str) -> None:
    _report(name, ())
    _report(name, (), problems=())
    _report(name, FINDINGS * 100)


def test_concise_is_a_line_a_finding() -> None:
    assert _report("concise").splitlines() == [
        "a b/ä.py:1:13: TMP902 50% slower, a:b",
        "train.py:2:36: TMP301 lambda reaches a worker",
    ]


def test_full_shows_the_span_and_the_way() -> None:
    assert _report("full") == (
        "a b/ä.py:1:13: TMP902 50% slower, a:b\n"
        "  |\n"
        "1 |     x = '漢', f(lambda:\n"
        "  |                 ^^^^^^^\n"
        "  | ... and 1 more line\n"
        "\n"
        "train.py:2:36: TMP301 lambda reaches a worker\n"
        "  |\n"
        "2 | loader = DataLoader(ds, collate_fn=lambda b: b)\n"
        "  |                                    ^^^^^^^^^^^\n"
        "  = lambda                   transforms.py:12\n"
        "  → DataLoader(collate_fn=)  train.py:2\n"
    )
    assert "  > DataLoader" in _report("full", unicode=False)


def test_full_says_what_it_can_where_the_source_is_gone() -> None:
    finding = FINDINGS[1]._replace(path="gone.py", way=())
    assert _report("full", [finding]) == "gone.py:2:36: TMP301 lambda reaches a worker\n"
    _report("full", [finding._replace(path="train.py", column=500, end_column=600)])


def test_json_holds_everything() -> None:
    document = json.loads(_report("json"))
    assert document["version"] == "1.2.3"
    assert document["problems"] == [{"path": "broken.py", "problem": PROBLEMS[0][1]}]
    assert document["findings"][1] == {
        "path": "train.py",
        "line": 2,
        "column": 36,
        "end_line": 2,
        "end_column": 47,
        "code": "TMP301",
        "rule": "lambda-to-worker",
        "message": "lambda reaches a worker",
        "way": [
            {"path": "transforms.py", "line": 12, "text": "lambda"},
            {"path": "train.py", "line": 2, "text": "DataLoader(collate_fn=)"},
        ],
    }


def test_github_gets_commands_with_escapes() -> None:
    assert _report("github").splitlines() == [
        "::error title=torchmp (TMP902),file=a b/ä.py,line=1,endLine=2::TMP902 50%25 slower, a:b",
        (
            "::error title=torchmp (TMP301),file=train.py,line=2,col=36,endLine=2,endColumn=47"
            "::TMP301 lambda reaches a worker"
        ),
        "::error title=torchmp,file=broken.py::cannot be parsed: line 1: invalid syntax",
    ]
    odd = FINDINGS[1]._replace(path="a:b,c%.py", message="one\ntwo")
    assert "file=a%3Ab%2Cc%25.py," in _report("github", [odd])
    assert "::TMP301 one%0Atwo\n" in _report("github", [odd])


def test_github_gets_a_summary_with_all_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    _report("github", [FINDINGS[1]._replace(message="a | b <c>")])
    assert "| train.py:2 | TMP301 | a \\| b &lt;c> |" in summary.read_text()
    _report("github", FINDINGS * 20_000)
    assert summary.stat().st_size < 1_048_576
    assert "more findings are not shown" in summary.read_text()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    _report("github")


def test_gitlab_gets_its_fields_and_fingerprints_of_their_own() -> None:
    issues = json.loads(_report("gitlab", FINDINGS * 3))
    assert {key for issue in issues for key in issue} == {
        "description",
        "check_name",
        "fingerprint",
        "severity",
        "location",
    }
    assert len({issue["fingerprint"] for issue in issues}) == 6
    assert [issue["severity"] for issue in issues[:2]] == ["minor", "major"]
    assert issues[1]["location"] == {"path": "train.py", "lines": {"begin": 2, "end": 2}}
    assert json.loads(_report("gitlab", [FINDINGS[1]._replace(path="./train.py")]))[0]["location"]["path"] == "train.py"


def test_fingerprints_stay_when_lines_are_added_above() -> None:
    def of(text: str, line: int) -> list[str]:
        context = Context("1", lambda _: text.split("\n"), lambda: ())
        return fingerprints([FINDINGS[1]._replace(line=line)], context)

    assert of("a\n  bad\n", 2) == of("a\nb\nbad \n", 3)
    assert of("a\nbad\n", 2) != of("a\nother\n", 2)


def test_junit_is_a_suite_a_file() -> None:
    root = fromstring(_report("junit", (*FINDINGS, FINDINGS[1]._replace(column=1, message="\x00<&>\ud800"))))
    assert root.attrib == {"name": "torchmp", "tests": "4", "failures": "3", "errors": "1"}
    assert [suite.get("name") for suite in root] == ["a b/ä.py", "train.py", "broken.py"]
    failure = root[1][0][0]
    assert (failure.tag, failure.get("type"), failure.get("message")) == (
        "failure",
        "TMP301",
        "lambda reaches a worker",
    )
    assert root[1][1][0].get("message") == "?<&>?"
    quiet = fromstring(_report("junit", (), problems=()))
    assert (quiet.get("tests"), quiet.get("failures")) == ("1", "0")


class TestSarif:
    @pytest.fixture
    def run(self) -> dict[str, Any]:
        document = json.loads(_report("sarif"))
        assert set(document) == {"$schema", "version", "runs"}
        assert document["version"] == "2.1.0"
        [run] = document["runs"]
        assert isinstance(run, dict)
        return run

    def test_explains_every_rule(self, run: dict[str, Any]) -> None:
        driver = run["tool"]["driver"]
        assert (driver["name"], driver["version"]) == ("torchmp", "1.2.3")
        assert [rule["id"] for rule in driver["rules"]] == ["TMP301", "TMP302", "TMP902"]
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"] and rule["help"]["text"] and rule["help"]["markdown"]
        assert [rule["defaultConfiguration"]["level"] for rule in driver["rules"]] == ["error", "error", "note"]

    def test_has_relative_places_in_characters(self, run: dict[str, Any]) -> None:
        assert run["columnKind"] == "unicodeCodePoints"
        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        assert unquote(places[0]["artifactLocation"]["uri"]) == "a b/ä.py"
        assert " " not in places[0]["artifactLocation"]["uri"]
        assert places[0]["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        assert places[1]["region"] == {"startLine": 2, "startColumn": 36, "endLine": 2, "endColumn": 47}

    def test_shows_the_way_as_a_code_flow(self, run: dict[str, Any]) -> None:
        quiet, result = run["results"]
        assert "codeFlows" not in quiet
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "TMP301"
        [flow] = result["codeFlows"]
        locations = [step["location"] for step in flow["threadFlows"][0]["locations"]]
        assert [step["message"]["text"] for step in locations] == ["lambda", "DataLoader(collate_fn=)"]
        assert locations[0]["physicalLocation"]["region"] == {"startLine": 12}

    def test_tells_results_apart(self, run: dict[str, Any]) -> None:
        prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
        assert len(set(prints)) == 2

    def test_says_what_could_not_be_checked(self, run: dict[str, Any]) -> None:
        [invocation] = run["invocations"]
        assert invocation["executionSuccessful"] is False
        assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("broken.py: ")

    def test_places_outside_of_the_folder_are_whole_uris(self) -> None:
        result = json.loads(_report("sarif", [FINDINGS[1]._replace(path="/else where/x.py")]))["runs"][0]["results"][0]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///else%20where/x.py"}
        assert json.loads(_report("sarif", [FINDINGS[1]._replace(code="TMP000")]))["runs"][0]["results"]
