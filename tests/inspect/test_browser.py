"""The page in a real Chromium: search, slider, details, keys, both schemes, hostile texts, ten thousand results."""

from __future__ import annotations

import numpy as np
import pytest
from inspect_memories import DIARY, HOSTILE, TEA, USER
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from mem_opensearch.inspect.inspector import Inspector

WAIT = 120
HOME = "使用者住在哪里？"


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def find_all(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def until(browser, holds):
    passing = (NoSuchElementException, StaleElementReferenceException)  # what is looked at has just been replaced
    return WebDriverWait(browser, WAIT, ignored_exceptions=passing).until(lambda _: holds())


def idle(browser):
    """Wait until nothing is asked any more."""
    until(browser, lambda: not find_all(browser, '[aria-busy="true"]'))


def ids(browser, rows=".row:not([data-quiet])"):
    """Return the ids of the results, without those below the threshold."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter(row => !row.closest('.below')).map(row => row.dataset.id)",
        rows,
    )


def search(browser, question, **scope):
    for name, value in (scope or {"user": "amei"}).items():
        find(browser, f"[name={name}]").clear()
        find(browser, f"[name={name}]").send_keys(value)
    find(browser, "#query").clear()
    find(browser, "#query").send_keys(question + Keys.ENTER)
    idle(browser)


def slide(browser, value):
    browser.execute_script(
        "const slider = document.getElementById('threshold'); slider.value = arguments[0];"
        "slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change'))",
        value,
    )
    idle(browser)


def press(browser, key):
    browser.switch_to.active_element.send_keys(key)


def complaints(browser):
    """Return what Chromium's console says: scripts that failed, and what the policy has blocked."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]


@pytest.fixture
def diary(remember, open_page, monkeypatch):
    monkeypatch.setattr(Inspector, "collection", "diary")  # a name for the pictures
    return open_page(remember(DIARY))


def test_search_slide_and_open(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary))
    assert "token" not in browser.current_url
    search(browser, HOME)
    found = ids(browser)
    assert found[0] == "home-3"
    before = diary.inspector.requests
    counts = [len(found)]
    for threshold in (0.3, 0.6, 1):
        slide(browser, threshold)
        counts.append(len(ids(browser)))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]
    slide(browser, 0.1)
    assert ids(browser) == found
    assert diary.inspector.requests == before
    assert find(browser, "#threshold-value").text == "0.10"
    screenshot(browser, "search")
    find(browser, '.row[data-id="home-2"]').click()
    until(browser, lambda: find(browser, "#detail").is_displayed())
    idle(browser)
    assert find(browser, ".memory").text == DIARY["home-2"]
    assert [each.text for each in find_all(browser, ".versions .link")] == [
        DIARY[each] for each in ("home-1", "home-2", "home-3")
    ]
    assert find_all(browser, ".memory mark")
    screenshot(browser, "memory")
    find(browser, '.versions [data-id="home-1"]').click()
    until(browser, lambda: find(browser, ".memory").text == DIARY["home-1"])
    assert complaints(browser) == []


def test_why_not_this_memory(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary))
    search(browser, HOME)
    field = find(browser, "#why-id")
    field.send_keys("cat" + Keys.ENTER)
    until(browser, lambda: "lies below the threshold" in find(browser, "#why-answer").text)
    find(browser, "#why-answer .link").click()
    until(browser, lambda: find(browser, "#detail").is_displayed())
    assert find(browser, ".memory").text == DIARY["cat"]
    find(browser, "#close-detail").click()
    field.clear()
    field.send_keys("nobody-knows-it" + Keys.ENTER)
    until(browser, lambda: "No such memory is stored" in find(browser, "#why-answer").text)


def test_beside_mem0_in_the_dark(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary), dark=True)
    find(browser, "[name=compare]").click()
    Select(find(browser, "[name=rerank]")).select_by_value("answers")
    search(browser, "Alice 推荐的拉面店在哪里")
    assert ids(browser)[0] == "alice-1"
    assert ids(browser, ".mem0 .row")
    assert find(browser, ".tag.other").text.startswith("mem0: ")
    screenshot(browser, "mem0-dark")
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = open_browser(live(diary))
    assert light.execute_script("return getComputedStyle(document.body).backgroundColor") != dark
    assert complaints(browser) == []


def test_a_narrow_screen_in_the_dark(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary), dark=True, width=390, height=844)
    search(browser, "Alice 喜欢什么茶？")
    wide = "return document.documentElement.scrollWidth - window.innerWidth"
    assert browser.execute_script(wide) <= 0
    screenshot(browser, "narrow")
    find(browser, '.row[data-id="alice-2"]').click()
    until(browser, lambda: find(browser, "#detail").is_displayed())
    idle(browser)
    assert browser.execute_script(wide) <= 0
    screenshot(browser, "narrow-memory")
    find(browser, '.chip[data-entity="Alice"]').click()
    until(browser, lambda: DIARY["alice-1"] in find(browser, "#detail").text)


def test_the_keys(diary, live, open_browser):
    browser = open_browser(live(diary))
    search(browser, HOME)
    press(browser, Keys.ESCAPE)
    order = ids(browser)

    def focused():
        return browser.switch_to.active_element.get_attribute("data-id")

    press(browser, "j")
    assert focused() == order[0]
    press(browser, "j")
    assert focused() == order[1]
    press(browser, "k")
    assert focused() == order[0]
    press(browser, Keys.ENTER)
    until(browser, lambda: find(browser, "#detail").is_displayed())
    press(browser, "j")
    until(browser, lambda: find(browser, "#detail .id").text == order[1])
    press(browser, Keys.ESCAPE)
    until(browser, lambda: not find(browser, "#detail").is_displayed())
    until(browser, lambda: focused() in order[:2])
    press(browser, "?")
    until(browser, lambda: find(browser, "#help").is_displayed())
    press(browser, Keys.ESCAPE)
    until(browser, lambda: not find(browser, "#help").is_displayed())
    press(browser, "/")
    assert browser.switch_to.active_element.get_attribute("id") == "query"
    press(browser, "/j")
    assert find(browser, "#query").get_attribute("value").endswith("/j")  # keys are letters where one writes
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_entities_and_health_in_chinese(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary), languages="zh-TW,zh")
    assert find(browser, "html").get_attribute("lang") == "zh-Hant"
    find(browser, "[name=user]").send_keys("amei")
    find(browser, "#tab-entities").click()
    until(browser, lambda: find_all(browser, ".card"))
    screenshot(browser, "entities")
    find(browser, '.card[data-entity="Alice"]').click()
    until(browser, lambda: find(browser, "#detail").is_displayed())
    idle(browser)
    assert DIARY["alice-1"] in find(browser, "#detail").text
    find(browser, "#tab-health").click()
    until(browser, lambda: find_all(browser, ".tiles"))
    assert "24" in find(browser, ".tiles").text
    screenshot(browser, "health")
    find(browser, 'a[hreflang="zh-Hans"]').click()
    until(browser, lambda: find(browser, "html").get_attribute("lang") == "zh-Hans")
    assert complaints(browser) == []


def test_hostile_texts_do_nothing(remember, open_page, live, open_browser, screenshot):
    page = open_page(remember({**TEA, **HOSTILE}, link=False))
    browser = open_browser(live(page))
    title = browser.title
    search(browser, "茶会 <img src=x onerror=\"document.title='owned'\">")
    slide(browser, 0)
    assert set(HOSTILE) <= set(ids(browser))
    for each in HOSTILE:
        row = find(browser, f'.row[data-id="{each}"]')
        row.click()
        until(browser, lambda each=each: find(browser, "#detail .id").text == each)
        idle(browser)
    screenshot(browser, "hostile")
    assert browser.title == title
    assert find_all(browser, "main script, main img, #detail script, #detail img, [onmouseover]") == []
    assert complaints(browser) == []


def test_errors_and_nothing_in_the_browser(diary, live, open_browser, screenshot):
    browser = open_browser(live(diary))
    find(browser, "#query").send_keys(HOME + Keys.ENTER)
    until(browser, lambda: find_all(browser, "#results .error"))
    assert "Whose memories?" in find(browser, "#results").text
    assert not find(browser, "#gate").is_displayed()
    search(browser, HOME, user="nobody")
    assert "Nothing that matches is stored" in find(browser, "#results").text
    search(browser, HOME, user="amei")
    slide(browser, 1)
    assert "lie below the threshold 1" in find(browser, "#results").text
    screenshot(browser, "empty")
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    search(browser, HOME)
    assert "own process does not answer" in find(browser, "#results .error").text


def test_a_wrong_token_in_the_browser(diary, live, open_browser):
    browser = open_browser(live(diary).partition("?")[0] + "?token=wrong")
    assert "token is missing or wrong" in find(browser, "body").text


def test_ten_thousand_results_stay_in_pages(make_store, encoder, open_page, live, open_browser):
    from mem_opensearch.search import Searcher

    store = make_store(embedding_model_dims=encoder.dims, annotate=False)
    vectors = np.random.default_rng(7).normal(size=(10_000, encoder.dims)).astype(np.float32)
    vectors += 3 * np.asarray(encoder.embed_documents(["旅行的计划"])[0])  # near enough to pass
    payloads = [{"data": f"第{number}次聊到旅行的计划", **USER} for number in range(10_000)]
    store.insert(list(vectors), payloads, [f"n{number}" for number in range(10_000)])
    store.count()
    page = open_page(Searcher(store, embedder=encoder))
    browser = open_browser(live(page))
    Select(find(browser, "[name=top_k]")).select_by_value("10000")
    search(browser, "旅行的计划")
    slide(browser, 0)
    assert "10,000 shown of 10,000" in find(browser, ".summary").text
    count = "return document.getElementsByTagName('*').length"
    assert browser.execute_script(count) < 2500
    first = ids(browser)
    assert len(first) == 50
    find(browser, ".pages button:last-of-type").click()
    until(browser, lambda: ids(browser)[0] != first[0])
    assert browser.execute_script(count) < 2500
    # A frame is drawn while an answer is awaited: the page itself is never busy.
    drawn = browser.execute_async_script(
        "const done = arguments[0]; let frames = 0; const slider = document.getElementById('threshold');"
        "slider.value = 0.2; slider.dispatchEvent(new Event('input'));"
        "const draw = () => (++frames < 5 ? requestAnimationFrame(draw) : done(frames)); requestAnimationFrame(draw)"
    )
    assert drawn == 5
    idle(browser)
    assert complaints(browser) == []
