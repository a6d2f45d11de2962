// How texts are compared where somebody searches: whatever their case, and however their letters are put together.

/** A text as it is searched in, and a part of one as it is searched for. */
export function folded(text: string): string {
  // A sigma at the end of a word has a small letter of its own, and a part may end elsewhere.
  return text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
}
