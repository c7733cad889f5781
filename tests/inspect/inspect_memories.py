"""What the tests of the page store."""

from __future__ import annotations

from datetime import UTC, datetime

USER = {"user_id": "amei"}
START = datetime(2026, 1, 5, 9, tzinfo=UTC)

HOSTILE = {
    "x-script": "<script>document.title='owned'</script>茶会</script>",
    "x-attribute": '" onmouseover="document.title=\'owned\'" x="茶会',
    "x-image": "<img src=x onerror=\"document.title='owned'\">茶会",
    "x-link": "javascript:document.title='owned' 茶会",
    "x-turned": "茶会\u202egnp.exe\x1b[2J\x00\u2028{{ 7 * 7 }}",
}
TEA = {
    "t1": "龙井茶的水温是80度",
    "t2": "普洱茶要用沸水，冲泡10秒",
    "t3": "印表機的專案代號是ＰＸ－４４１",
    "t4": "我每天早上喝一杯黑咖啡",
    "t5": "Alice 推薦了一家拉麵店",
    "t6": "My sister bought a green bicycle",
    "m1": "使用者住在里斯本",
    "m2": "使用者住在柏林",
    "m3": "使用者住在慕尼黑",
}
