"""One's own answer to a question: kept for oneself, beside the course's, and scored by its rubric."""

from __future__ import annotations

import re

from fastapi import FastAPI

from app.accounts.models import Role
from tests.app.conftest import Browser

QUESTION = "/questions/fused-kernel-drift"


def test_an_answer_is_kept_beside_the_courses(browser: Browser) -> None:
    assert browser.post(f"{QUESTION}/attempt", data={"text": "x"}).status_code == 303  # to the sign-in
    browser.sign_in_as("ada")
    assert "Try to answer first" in browser.get(QUESTION).text
    answer = browser.post(f"{QUESTION}/attempt", data={"text": "The sum is **not** rescaled."})
    assert answer.headers["location"] == f"{QUESTION}#answer"
    page = browser.get(QUESTION).text
    assert "<strong>not</strong>" in page and '<details class="answer" id="answer" open>' in page
    browser.post(f"{QUESTION}/attempt", data={"text": ""})
    assert "Try to answer first" in browser.get(QUESTION).text


def test_nobody_else_sees_it(application: FastAPI, browser: Browser) -> None:
    browser.sign_in_as("ada")
    browser.post(f"{QUESTION}/attempt", data={"text": "CANARY"})
    for role in Role:
        other = Browser(application)
        other.sign_in_as(f"eve-{role}", role)
        assert "CANARY" not in other.get(QUESTION).text
    assert "CANARY" not in Browser(application).get(QUESTION).text
    assert "CANARY" in browser.get(QUESTION).text


def test_self_scoring_adds_up_and_a_new_answer_starts_anew(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert browser.post(f"{QUESTION}/self-score", data={}).status_code == 422
    browser.post(f"{QUESTION}/attempt", data={"text": "One."})
    fields = re.findall(r'<input type="number" name="([^"]+)" min="0" max="(\d+)"', browser.get(QUESTION).text)
    assert len(fields) >= 2
    full = dict(fields)
    assert browser.post(f"{QUESTION}/self-score", data={**full, fields[0][0]: "99"}).status_code == 422
    assert browser.post(f"{QUESTION}/self-score", data={**full, fields[0][0]: "-1"}).status_code == 422
    assert browser.post(f"{QUESTION}/self-score", data=full).status_code == 303
    total = sum(int(most) for _, most in fields)
    assert re.search(rf'In all</td><td class="number">{total}</td>', browser.get(QUESTION).text)
    browser.post(f"{QUESTION}/attempt", data={"text": "Two."})
    assert re.search(r'In all</td><td class="number"></td>', browser.get(QUESTION).text)


def test_too_long_is_refused_and_odd_text_is_kept(browser: Browser) -> None:
    browser.sign_in_as("ada")
    assert browser.post(f"{QUESTION}/attempt", data={"text": "x" * 20_001}).status_code == 422
    browser.post(f"{QUESTION}/attempt", data={"text": "\0 {{7*7}} <script>alert(1)</script>"})
    page = browser.get(QUESTION)
    assert page.status_code == 200 and "<script>alert" not in page.text and "{{7*7}}" in page.text
