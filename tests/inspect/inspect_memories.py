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

DIARY = {
    "home-1": "使用者住在里斯本",
    "home-2": "使用者住在柏林",
    "home-3": "使用者住在慕尼黑",
    "move": "搬家公司星期五早上來，新家的地址還沒告訴房東",
    "rent": "柏林的房租一个月一千二百欧元，押金三个月",
    "lisbon": "里斯本的電車 28 路週末人很多",
    "tea-1": "龙井茶的水温是80度，泡三分钟",
    "tea-2": "普洱茶要用沸水，第一泡倒掉",
    "coffee": "我每天早上喝一杯黑咖啡，不加糖",
    "printer": "印表機的專案代號是ＰＸ－４４１，保固到明年三月",
    "printer-2": "PX-442 的墨水匣在會議室的櫃子裡",
    "alice-1": "Alice 推薦了車站旁邊的拉麵店，要排隊",
    "alice-2": "Alice's birthday is on 12 May, she likes jasmine tea",
    "bob": "Bob 在慕尼黑的公司做資料庫",
    "sister": "My sister bought a green bicycle for the move",
    "cat": "貓叫小米，兩歲，怕吸塵器",
    "doctor": "牙醫約在下星期二下午三點",
    "run": "星期天和 Alice 沿着伊萨尔河跑了十公里",
    "work": "办公室楼下有一家很好的面包店",
    "work-2": "我在一家做地图的公司上班",
    "film": "上次看的電影是《悲情城市》",
    "allergy": "對花生過敏，點餐時要先說",
    "wifi": "家裡的網路壞了，客服單號 TK-20931",
    "german": "德语课每周三晚上七点，在社区大学",
}
"""What somebody might tell an assistant, in both scripts and in English."""
