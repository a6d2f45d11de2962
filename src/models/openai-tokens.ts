// About how many tokens a text has for models whose vocabulary is not known here.

/** What English has in one token, with its spaces. */
const CHARACTERS_OF_TOKEN = 4
/** Of scripts with letters that are not Latin. */
const LETTERS_OF_TOKEN = 2

/** Han, kana and hangul have a token for each character, or nearly; other scripts are between them and English. */
export function estimatedTokens(text: string): number {
  let latin = 0
  let letters = 0
  let characters = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x250) latin++
    else if (code < 0x2e80) letters++
    else characters++
  }
  return Math.ceil(latin / CHARACTERS_OF_TOKEN + letters / LETTERS_OF_TOKEN + characters)
}
