"""Sentences whose translations were written by hand."""

import pytest

from regard.data.toy.chinese import chinese
from regard.data.toy.english import english
from regard.data.toy.german import german
from regard.data.toy.lexicon import lexicon
from regard.data.toy.sentence import Event, Joined, Located, NounPhrase, Place, Presence, Quality, Question, Statement

WORDS = lexicon()


def who(word):
    return next(row for row in WORDS.subjects if row.english == word)


def verb(word, german=None):
    return next(row for row in WORDS.verbs if row.english == word and german in (None, row.german))


def time(word):
    return next(row for row in WORDS.times if row.english == word)


def adjective(word, attribute=None, noun=None):
    rows = [row for row in WORDS.adjectives if row.english == word and attribute in (None, row.attribute)]
    return next(row for row in rows if noun is None or row.nouns & noun.classes)


def phrase(text, german=None):
    """the old book, three cats, milk."""
    words = text.split()
    numbers = {row.english: row for row in WORDS.numbers}
    first = words.pop(0) if words[0] in {"the", "a", "an", "this", "these", "my", *numbers} else "none"
    noun = next(row for row in WORDS.nouns if words[-1] in (row.english, row.plural) and german in (None, row.german))
    determiner = {"an": "a", "these": "this"}.get(first, "number" if first in numbers else first)
    described = adjective(words[0], noun=noun) if len(words) > 1 else None
    return NounPhrase(noun, determiner, described, words[-1] == noun.plural, numbers.get(first))


def place(preposition, text, german=None):
    thing = phrase(text, german)
    kinds = thing.noun.classes
    return Place(next(row for row in WORDS.prepositions if row.english == preposition and row.kind in kinds), thing)


def event(subject, action, tense, thing=None, **more):
    subject = who(subject) if any(row.english == subject for row in WORDS.subjects) else phrase(subject)
    action = verb(action) if isinstance(action, str) else action
    return Event(subject, action, tense, phrase(thing) if isinstance(thing, str) else thing, **more)


ROWS = {
    "She opened the door. | Sie hat die Tür aufgemacht. | 她把门打开了。": Statement(
        event("she", "open", "past", "the door")
    ),
    "Yesterday she opened the door. | Gestern hat sie die Tür aufgemacht. | 昨天她把门打开了。": Statement(
        event("she", "open", "past", "the door", time=time("yesterday"), slot="front")
    ),
    "Anna is happy because she often opens the window. | Anna ist glücklich, weil sie oft das Fenster aufmacht. | 因为她经常开窗户，所以安娜很高兴。": Joined(
        Quality(who("Anna"), adjective("happy")),
        "because",
        event("she", "open", "habit", "the window", time=time("often"), slot="mid"),
    ),
    "When she opens the door, he is happy. | Wenn sie die Tür aufmacht, ist er glücklich. | 她开门的时候，他很高兴。": Joined(
        Quality(who("he"), adjective("happy")), "when", event("she", "open", "habit", "the door"), True
    ),
    "We are not sad when my old dog barks. | Wir sind nicht traurig, wenn mein alter Hund bellt. | 我的老狗叫的时候，我们不伤心。": Joined(
        Quality(who("we"), adjective("sad"), True), "when", event("my old dog", "bark", "habit")
    ),
    "I know that Tom knows the teacher. | Ich weiß, dass Tom den Lehrer kennt. | 我知道汤姆认识那位老师。": Joined(
        event("I", verb("know", "wissen"), "state"),
        "that",
        event("Tom", verb("know", "kennen"), "state", "the teacher"),
    ),
    "Three cats are sleeping under the table. | Drei Katzen schlafen unter dem Tisch. | 三只猫在桌子下面睡觉。": Statement(
        event("three cats", "sleep", "progressive", place=place("under", "the table"))
    ),
    "I bought two books. | Ich habe zwei Bücher gekauft. | 我买了两本书。": Statement(
        event("I", "buy", "past", "two books")
    ),
    "Paul did not buy a new car. | Paul hat kein neues Auto gekauft. | 保罗没买新汽车。": Statement(
        event("Paul", "buy", "past", "a new car", negative=True)
    ),
    "They do not have a horse. | Sie haben kein Pferd. | 他们没有马。": Statement(
        event("they", "have", "state", "a horse", negative=True)
    ),
    "Did the child read this letter? | Hat das Kind diesen Brief gelesen? | 孩子读了这封信吗？": Question(
        event("the child", "read", "past", "this letter")
    ),
    "Is he looking at the red flowers? | Sieht er die roten Blumen an? | 他在看那些红色的花吗？": Question(
        event("he", "look at", "progressive", "the red flowers")
    ),
    "The women went to the station today. | Die Frauen sind heute zum Bahnhof gegangen. | 女人们今天去了火车站。": Statement(
        event("the women", "go", "past", "the station", time=time("today"))
    ),
    "We did not go to the library. | Wir sind nicht zur Bibliothek gegangen. | 我们没去图书馆。": Statement(
        event("we", "go", "past", "the library", negative=True)
    ),
    "Lena gave the children a green apple. | Lena hat den Kindern einen grünen Apfel gegeben. | 莱娜给了孩子们一个绿色的苹果。": Statement(
        event("Lena", "give", "past", "a green apple", receiver=phrase("the children"))
    ),
    "Maria will send my brother the letter. | Maria wird meinem Bruder den Brief schicken. | 玛丽亚会把信寄给我的哥哥。": Statement(
        event("Maria", "send", "future", "the letter", receiver=phrase("my brother"))
    ),
    "A duck is swimming in the lake. | Eine Ente schwimmt im See. | 一只鸭子在湖里游泳。": Statement(
        event("a duck", "swim", "progressive", place=place("in", "the lake"))
    ),
    "We are sitting on the bank. | Wir sitzen am Ufer. | 我们在河岸上坐着。": Statement(
        event("we", "sit", "progressive", place=place("on", "the bank", "Ufer"))
    ),
    "Peter often works in the bank. | Peter arbeitet oft in der Bank. | 彼得经常在银行里工作。": Statement(
        event("Peter", "work", "habit", place=place("in", "the bank", "Bank"), time=time("often"), slot="mid")
    ),
    "The bat is sleeping. | Die Fledermaus schläft. | 蝙蝠在睡觉。": Statement(
        Event(phrase("the bat", "Fledermaus"), verb("sleep"), "progressive")
    ),
    "Tom bought a bat. | Tom hat einen Schläger gekauft. | 汤姆买了一根球棒。": Statement(
        event("Tom", "buy", "past", phrase("a bat", "Schläger"))
    ),
    "The suitcase is light. | Der Koffer ist leicht. | 手提箱很轻。": Statement(
        Quality(phrase("the suitcase"), adjective("light", "轻的"))
    ),
    "Is this kitchen light? | Ist diese Küche hell? | 这个厨房亮吗？": Question(
        Quality(phrase("this kitchen"), adjective("light", "明亮的"))
    ),
    "The bicycle is not red. | Das Fahrrad ist nicht rot. | 自行车不是红色的。": Statement(
        Quality(phrase("the bicycle"), adjective("red"), True)
    ),
    "The keys are on the sofa. | Die Schlüssel sind auf dem Sofa. | 那些钥匙在沙发上。": Statement(
        Located(phrase("the keys"), place("on", "the sofa"))
    ),
    "In the garden there are two white horses. | Im Garten sind zwei weiße Pferde. | 花园里有两匹白色的马。": Statement(
        Presence(place("in", "the garden"), phrase("two white horses"))
    ),
    "In the forest there is no bird. | Im Wald ist kein Vogel. | 森林里没有鸟。": Statement(
        Presence(place("in", "the forest"), phrase("a bird"), True)
    ),
    "He says that it will rain tomorrow. | Er sagt, dass es morgen regnen wird. | 他说明天会下雨。": Joined(
        event("he", "say", "state"), "that", event("it", "rain", "future", time=time("tomorrow"))
    ),
    "David is wearing a blue coat. | David trägt einen blauen Mantel. | 大卫穿着一件蓝色的大衣。": Statement(
        event("David", "wear", "progressive", "a blue coat")
    ),
    "Lisa is drinking cold milk. | Lisa trinkt kalte Milch. | 丽莎在喝冷的牛奶。": Statement(
        event("Lisa", "drink", "progressive", "cold milk")
    ),
    "I played football with my friends. | Ich habe mit meinen Freunden Fußball gespielt. | 我跟我的朋友踢足球了。": Statement(
        event("I", "play football", "past", companion=phrase("my friends"))
    ),
    "She did not call the doctor. | Sie hat den Arzt nicht angerufen. | 她没给那位医生打电话。": Statement(
        event("she", "call", "past", "the doctor", negative=True)
    ),
}


@pytest.mark.parametrize("texts", ROWS)
def test_by_hand(texts):
    assert " | ".join(say(ROWS[texts]) for say in (english, german, chinese)) == texts
