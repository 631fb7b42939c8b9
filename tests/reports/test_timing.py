"""The clock starts when a model is warm."""

import time

from regard.reports.timing import WARM_UP, timed


def test_the_first_few_texts_are_done_before_the_clock_starts():
    given = []

    def run(texts):
        given.append(list(texts))
        time.sleep(0.2 if len(given) == 1 else 0.0)  # as when something is compiled
        return len(texts)

    made, spent = timed(run, [str(number) for number in range(WARM_UP + 5)])
    assert made == WARM_UP + 5
    assert [len(texts) for texts in given] == [WARM_UP, WARM_UP + 5]
    assert spent.seconds < 0.2


def test_processor_time_does_not_pass_while_a_process_sleeps():
    _, spent = timed(lambda texts: time.sleep(0.1 * (len(texts) > WARM_UP)), "x" * (WARM_UP + 1))
    assert spent.seconds >= 0.1
    assert spent.core_seconds < spent.seconds / 2
