// The held end of a streamed text. Its parts are compared by hashes that are computed once, when the pieces arrive: no
// character is scanned again.
import {
  allocateSums,
  appendSums,
  type HashedText,
  type HashSpan,
  type HashSums,
  hashLongPart,
  hashShortPart,
  sumPart,
} from './rolling-hashes.ts'

const MIN_SUMS_LENGTH = 64

export class HeldText implements HashedText {
  #pieces: string[] = []
  /** The number of fully taken pieces, and of taken characters of the next piece. */
  #taken_pieces = 0
  #taken_characters = 0
  #sums: HashSums | null = null
  /** The index of the first held character in the sums. */
  #sums_start = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  append(piece: string): void {
    if (piece === '') return
    const sums = this.#ensureSums(piece.length)
    appendSums(sums, this.#sums_start + this.#length, piece)
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  /** Removes and returns the first characters. */
  take(count: number): string {
    this.#length -= count
    this.#sums_start += count
    let taken = ''
    for (let left = count; left > 0; ) {
      const piece = this.#pieces[this.#taken_pieces]!
      const part = piece.slice(this.#taken_characters, this.#taken_characters + left)
      taken += part
      left -= part.length
      this.#taken_characters += part.length
      if (this.#taken_characters === piece.length) this.#dropPiece()
    }
    return taken
  }

  shortHash(from: number, length: number): number {
    return hashShortPart(this.#sums!, this.#sums_start + from, length)
  }

  longHash(from: number, span: HashSpan): number {
    return hashLongPart(this.#sums!, this.#sums_start + from, span)
  }

  sum(from: number, length: number): number {
    return sumPart(this.#sums!, this.#sums_start + from, length)
  }

  #dropPiece(): void {
    this.#taken_characters = 0
    this.#taken_pieces++
    if (this.#taken_pieces * 2 < this.#pieces.length) return
    this.#pieces = this.#pieces.slice(this.#taken_pieces)
    this.#taken_pieces = 0
  }

  /**
   * Ensures capacity for more sums. The sums of held text move only if more characters than that were taken, or into
   * twice the capacity, so that moves are rare.
   */
  #ensureSums(more: number): HashSums {
    const present = this.#sums
    const needed = this.#length + more
    if (present && this.#sums_start + needed < present.sums.length) return present
    const fits = present !== null && this.#sums_start > this.#length && needed < present.sums.length
    const room = fits ? present : allocateSums(Math.max(MIN_SUMS_LENGTH, 2 * needed))
    if (present)
      for (const kind of ['sums', 'otherSums'] as const)
        room[kind].set(present[kind].subarray(this.#sums_start, this.#sums_start + this.#length + 1))
    this.#sums_start = 0
    this.#sums = room
    return room
  }
}
