// Estimates the tokens of a text for models with an unknown vocabulary.

/** English, with its spaces. */
const LATIN_CHARACTERS_PER_TOKEN = 4
/** Scripts with letters that are not Latin. */
const OTHER_LETTERS_PER_TOKEN = 2

/** Han, kana and hangul have about one token for each character; other scripts are between them and English. */
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
