"""Dates and durations in their common spellings."""

import pytest
from helpers.verdicts import accepted, correct, rows

EQUAL = {
    "date": [
        ("2024-01-05", "Jan 5, 2024"),
        ("January 5, 2024", "2024-01-05"),
        ("5 January 2024", "2024-01-05"),
        ("5th January 2024", "January 5th, 2024"),
        ("2024年1月5日", "2024-01-05"),
        ("2024-1-5", "2024-01-05"),
        ("2024/01/05", "2024-01-05"),
        ("2024.1.5", "2024年1月5日"),
        ("Jan. 5, 2024", "January 5, 2024"),
        ("Friday, January 5, 2024", "2024-01-05"),
        ("January 5", "Jan 5"),
        ("5 July", "July 5"),
        ("July 4th", "July 4"),
        ("the 4th of July", "July 4"),
        ("1月5日", "January 5"),
        ("1月5号", "1月5日"),
        ("13/02/2024", "2024-02-13"),
        ("02/13/2024", "13 February 2024"),
        (r"\text{March 3}", "3 March"),
        ("2024年10月1日", "Oct 1, 2024"),
        ("Sept 9, 2020", "September 9, 2020"),
        ("05 Jan 2024", "2024年01月05日"),
    ],
    "duration": [
        ("1 hour 30 minutes", "90 min"),
        ("1 hour 30 minutes", "1.5 h"),
        ("1 hour and 30 minutes", "90 minutes"),
        (r"3 \text{ hours and } 15 \text{ minutes}", "3.25"),
        ("1h30m", "90 minutes"),
        ("1h 30m", "1 hour 30 minutes"),
        ("1h30min", "1.5 hours"),
        ("one and a half hours", "90 minutes"),
        ("1小时30分", "90分钟"),
        ("1小时30分钟", "1.5小时"),
        ("1时30分", "90 min"),
        ("一小时三十分", "90分钟"),
        ("一个半小时", "1.5小时"),
        ("半小时", "30分钟"),
        ("half an hour", "30 minutes"),
        ("2 hours, 15 minutes", "135 minutes"),
        ("2 days 3 hours", "51 hours"),
        ("3 minutes 20 seconds", "200 s"),
        ("3分20秒", "200秒"),
        ("1天2小时", "26小时"),
        ("2h5m10s", "7510 s"),
        ("1 hour, 1 minute and 1 second", "3661 seconds"),
        ("45分钟", "0.75小时"),
    ],
}
DIFFERENT = {
    "date": [
        ("2024-01-05", "2024-05-01"),
        ("01/05/2024", "2024-01-05"),
        ("05/01/2024", "2024-01-05"),
        ("Jan 5, 2024", "Jan 6, 2024"),
        ("Jan 5, 2024", "Jan 5, 2023"),
        ("Jan 5", "Feb 5"),
        ("2024年1月5日", "2024年5月1日"),
        ("2024年1月5日", "2024年1月15日"),
        ("January 5", "5"),
        ("2024-01-05", "2018"),
        ("5 January 2024", "2024"),
        ("Monday, January 5", "January 6"),
        ("not January 5", "January 5"),
        ("2024-13-05", "2024-05-13"),
        ("Jan 5 or Jan 6", "Jan 5"),
        ("after January 5", "January 5"),
        ("July 4", "4"),
        ("2024-02-30", "2024-03-01"),
        ("1月5日", "1月6日"),
        ("1月5日以后", "1月5日"),
        ("1月5日", "5月1日"),
        ("May 2024", "May 20, 2024"),
    ],
    "duration": [
        ("1 hour 30 minutes", "130 minutes"),
        ("1h30m", "1.3 h"),
        ("1h30m", "30 m"),
        ("1小时30分", "130分钟"),
        ("1小时30分", "30分"),
        ("1小时30分", "1.3小时"),
        ("one and a half hours", "60 minutes"),
        ("half an hour", "60 minutes"),
        ("半小时", "1小时"),
        ("一个半小时", "1小时"),
        ("1时30分", "1.3时"),
        ("2 days 3 hours", "23 hours"),
        ("3分20秒", "320秒"),
        ("3 minutes 20 seconds", "3.2 minutes"),
        ("1 hour 30 minutes", "1 hour"),
        ("1 hour 30 minutes", "1"),
        ("1h30m", "1h30s"),
        ("1天2小时", "12小时"),
        ("90 minutes", "9 hours"),
        ("1 hour 30 minutes or more", "90 min"),
        ("不到1小时", "1小时"),
        ("1小时以上", "1小时"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(EQUAL))
def test_dates_and_durations_are_equal_in_any_spelling(answer, reference):
    assert accepted(answer, reference)
    assert correct(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_other_dates_and_durations_are_wrong(answer, reference):
    assert not accepted(answer, reference)
    assert not correct(answer, reference)
