// About how many tokens a text has for models whose vocabulary is not known here.

/** What English has in one token, with its spaces. */
const LATIN_CHARACTERS_PER_TOKEN = 4
/** Of scripts with letters that are not Latin. */
const OTHER_LETTERS_PER_TOKEN = 2

/** Han, kana and hangul have a token for each character, or nearly; other scripts are between them and English. */
export function estimateTokensByScript(text: string): number {
  let latin = 0
  let letters = 0
  let characters = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x250) latin++
    else if (code < 0x2e80) letters++
    else characters++
  }
  return Math.ceil(latin / LATIN_CHARACTERS_PER_TOKEN + letters / OTHER_LETTERS_PER_TOKEN + characters)
}
