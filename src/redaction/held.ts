// The end of a text that comes in pieces, as far as it is held back. Its parts are compared by hashes that are made once, as the pieces come: no
// character is looked at again with the next piece.
import { addSums, longPart, type Parts, roomFor, type Span, type Sums, shortPart, sumOf } from './hashes.ts'

const LEAST_ROOM = 64

export class HeldText implements Parts {
  #pieces: string[] = []
  /** How many of the pieces were taken as a whole, and how much of the next. */
  #gone = 0
  #cut = 0
  #sums: Sums | null = null
  /** Where the sums of what is held begin. */
  #from = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  append(piece: string): void {
    if (piece === '') return
    const sums = this.#roomFor(piece.length)
    addSums(sums, this.#from + this.#length, piece)
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  /** Takes the first characters away, and gives them. */
  take(count: number): string {
    this.#length -= count
    this.#from += count
    let taken = ''
    for (let left = count; left > 0; ) {
      const piece = this.#pieces[this.#gone]!
      const part = piece.slice(this.#cut, this.#cut + left)
      taken += part
      left -= part.length
      this.#cut += part.length
      if (this.#cut === piece.length) this.#next()
    }
    return taken
  }

  short(from: number, length: number): number {
    return shortPart(this.#sums!, this.#from + from, length)
  }

  long(from: number, span: Span): number {
    return longPart(this.#sums!, this.#from + from, span)
  }

  /** The sum of a part. */
  sum(from: number, length: number): number {
    return sumOf(this.#sums!, this.#from + from, length)
  }

  #next(): void {
    this.#cut = 0
    this.#gone++
    if (this.#gone * 2 < this.#pieces.length) return
    this.#pieces = this.#pieces.slice(this.#gone)
    this.#gone = 0
  }

  /** Sums for so many more characters. Those of what is held move only after as many others were taken, or into twice the room. */
  #roomFor(more: number): Sums {
    const present = this.#sums
    const needed = this.#length + more
    if (present && this.#from + needed < present.sums.length) return present
    const fits = present !== null && this.#from > this.#length && needed < present.sums.length
    const room = fits ? present : roomFor(Math.max(LEAST_ROOM, 2 * needed))
    if (present)
      for (const kind of ['sums', 'otherSums'] as const)
        room[kind].set(present[kind].subarray(this.#from, this.#from + this.#length + 1))
    this.#from = 0
    this.#sums = room
    return room
  }
}
