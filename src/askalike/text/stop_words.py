"""Function words of a few languages, including the parts into which tokenizers split contractions."""

from collections.abc import Mapping
from functools import cache
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    "en": """
        a about above after again against all am an and any are aren as at be because been before being below between
        both but by can cannot could couldn did didn do does doesn doing don down during each few for from further had
        hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
        just let me more most mustn my myself needn no nor not now of off on once only or other ought our ours ourselves
        out over own same shall shan she should shouldn so some such than that the their theirs them themselves then
        there these they this those through to too under until up very was wasn we were weren what when where which
        while who whom why will with won would wouldn you your yours yourself yourselves s t d m ll re ve n't 's 'd 'm
        'll 're 've ca wo
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim
        bin bis bist da dadurch daher damit dann darf darum das dass daß dein deine deinem deinen deiner dem den denen
        denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
        einen einer eines er es etwas euch euer eure eurem euren eurer für gegen gewesen hab habe haben hat hatte hatten
        hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes
        jene jenem jenen jener jenes jetzt kann kannst kein keine keinem keinen keiner können könnt könnte machen man
        manche manchem manchen mancher mein meine meinem meinen meiner mich mir mit muss musst müssen nach nicht nichts
        noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so solche solchem solchen
        solcher soll sollen sollte sondern sonst über um und uns unser unsere unserem unseren unserer unter viel vom von
        vor war waren warst was weg weil weiter welche welchem welchen welcher wenn wer werde werden wie wieder will wir
        wird wirst wo wollen würde würden zu zum zur zwar zwischen
    """,
    "es": """
        a al algo algunas algunos ante antes aquel aquella aquellas aquello aquellos aquí así aún aunque bajo cada como
        cómo con contra cual cuál cuales cuáles cuando cuándo cuanto cuánto de del desde donde dónde durante e el él
        ella ellas ello ellos en entre era eran eres es esa esas ese eso esos esta está estaba estado estamos están
        estar estas estás este esto estos estoy fue fueron ha haber había han has hasta hay he hemos la las le les lo
        los más me mi mí mientras mis mucho muchos muy nada ni no nos nosotras nosotros nuestra nuestras nuestro
        nuestros o os otra otras otro otros para pero poco por porque pues que qué quien quién quienes se sea sean según
        ser si sí sido siempre sin sobre sois somos son soy su sus suya suyo también tampoco tan tanto te tenemos tener
        tengo ti tiene tienen toda todas todavía todo todos tu tú tus tuya tuyo un una unas uno unos usted ustedes va
        vosotras vosotros vuestra vuestro y ya yo
    """,
    "fr": """
        a ai aie ainsi alors après as au aucun aucune aussi autre autres aux avaient avais avait avant avec avez avoir
        avons ayant c car ce ceci cela celle celles celui ces cet cette ceux chaque chez comme comment d dans de depuis
        des donc dont du elle elles en encore entre es est et étaient étais était étant été êtes être eu eux fait faire
        font il ils j je jusqu l la là le les leur leurs lors lui m ma mais me même mêmes mes moi moins mon n ne ni non
        nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle
        quelles quels qui quoi s sa sans se sera serait ses si sinon soit sommes son sont sous suis sur t ta te tes toi
        ton tous tout toute toutes très trop tu un une vers voici voilà vos votre vous y
    """,
    "ru": """
        а без бы был была были было быть в вам вами вас ваш ваша ваше ваши ведь весь во вот все всё всего всей всем всех
        всю вы где да даже для до его ее её ей ему если есть еще ещё ею же за зачем здесь и из или им ими их к как какая
        какие какого какое какой каком какую когда ко кто кого кому ли либо лишь меня мне мной мной мог могу может можно
        мои мой моя мы на над надо нам нами нас наш наша наше наши не него нее неё ней нем нём нет ни них но ну о об обо
        он она они оно от ото очень по под пока после потому почему при про с сам сама сами само свой свои своя себе
        себя со так такая такие такое такой там те тебе тебя тем теперь то тобой тогда того тоже той только том тот ту
        тут ты у уже хотя чего чей чем через что чтоб чтобы чья эта эти этим этих это этого этой этом этот эту я
    """,
}


ENGLISH: Final = "en"
STOP_WORD_LANGUAGES: Final = tuple(_WORDS)
"""The languages that have a list, English first."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the lower-case function words of an ISO 639-1 language; only en, de, es, fr and ru have any."""
    return frozenset(_WORDS.get(language, "").split())
