"""Bookings that grow old with the real SelectionService, against the core's rule for it."""

from sim.base.errors import InputError
from sim.router import Booking, Query, Router, RouterConfig
from sim.router.expiry import AgeLimit
from tests.vectors.router_tally import Rows, Tally, unlike

EMPTY = Query(request=0, isl_tokens=1, blocks=())


def replay_ageing(rows: Rows, tally: Tally) -> None:
    """Replay bookings that grow old, one prompt of 40 tokens again and again.

    The limit stands in the name of the file: expiry30.jsonl is of 30 seconds.
    """
    limit_s = float(rows[0][0].partition(":")[0].removeprefix("expiry").removesuffix(".jsonl"))
    ranks = next(len(row["loads"]) for _, row in rows if row["op"] == "loads")
    config = RouterConfig(active_request_expiry_secs=limit_s)
    router = Router(config, 16, ranks, worker_type="aggregated", expiry=AgeLimit(limit_s, ranks))
    bookings: dict[str, Booking] = {}
    for where, row in rows[1:]:
        now_s = row["t"]
        if row["op"] == "book":
            query = Query(request=len(bookings), isl_tokens=40, blocks=(0, 1), pinned=row["rank"])
            bookings[row["rid"]] = router.book(query, router.terms(query, now_s)[0], now_s)
        elif row["op"] == "prefill_complete":
            router.first_token(bookings[row["rid"]], now_s)
        elif row["op"] == "free":
            router.free(bookings[row["rid"]], now_s)
        elif row["op"] == "loads":
            router.terms(EMPTY, now_s)
            ours = router.loads.columns().T.tolist()
            tally.compared("load states of ageing bookings", where, unlike("loads", row["loads"], ours))
        else:
            raise InputError(f"{where}: op = {row['op']!r} is not known in a recording of expiry")
