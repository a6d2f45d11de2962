// What stands around the file of a form, as it comes: the parts before it, which are kept until it begins, and what is behind it. The parser leaves
// out whatever it does not know, and says nothing of it; here it is seen.
import { PART } from './form-faults.ts'
import { boundaryOf, headOf } from './part-head.ts'

/** What makes a part one of a form (RFC 7578, section 4.2). */
const LABEL = /^content-disposition:[ \t]*form-data[ \t]*(?:;|$)/im
const OF_FILE = new RegExp(`^content-disposition:.*;[ \\t]*name="?${PART}"?[ \\t]*(?:;|$)`, 'im')

/** A form up to its file. */
export interface Beginning {
  /** The fields. */
  readonly before: Buffer
  /** The part of the file, from its boundary on, as far as it came. */
  readonly part: Buffer
}

export class Around {
  readonly #most: number
  /** What stands between parts. */
  readonly #delimiter: string
  #received = 0
  /** What came so far, until the file begins. */
  #head: Buffer[] | null = []
  /** Where the file begins. */
  #start = 0
  /** Bytes of the file, once it has ended. */
  #size: number | null = null
  /** What came last of the file and of what is behind it: at least as much as may stand around it. */
  #tail: Buffer[] = []
  #kept = 0

  /** Of a form of this type, around whose file `most` bytes may stand. */
  constructor(form_type: string, most: number) {
    this.#most = most
    this.#delimiter = `\r\n--${boundaryOf(form_type)}`
  }

  get received(): number {
    return this.#received
  }

  /** Whether too much surely stands around the file: until its end is known, all that comes may belong to it. */
  get isTooMuch(): boolean {
    return this.#size !== null && this.#received - this.#size > this.#most
  }

  /** Whether nothing is behind the file. To be asked when the form has come whole, of a file that has ended. */
  get isLast(): boolean {
    const behind = this.#received - this.#start - (this.#size ?? 0)
    const tail = Buffer.concat(this.#tail)
    return tail.toString('latin1', tail.length - behind).startsWith(`${this.#delimiter}--`)
  }

  /** Takes a piece, and says whether by now there is too much. */
  push(chunk: Buffer): boolean {
    // As long as the file has not begun, it may begin in this piece.
    const before = this.#head === null ? 0 : this.#received
    this.#received += chunk.length
    if (this.#head) this.#head.push(chunk)
    else this.#keep(chunk)
    return before > this.#most || this.isTooMuch
  }

  /** The file begins in the last piece, behind so many fields. Null where another part stands before it. */
  begin(fields: number): Beginning | null {
    const head = Buffer.concat(this.#head ?? [])
    this.#head = null
    const parts = this.#partsOf(head).slice(0, fields + 1)
    const file = parts[fields]
    if (!file || !OF_FILE.test(headOf(file.text) ?? '') || !parts.every(isOfForm)) return null
    this.#start = file.at + this.#delimiter.length - 2 + file.text.indexOf('\r\n\r\n') + 4
    this.#keep(head.subarray(this.#start))
    return { before: head.subarray(0, file.at), part: head.subarray(file.at) }
  }

  /** The file has ended, and has so many bytes. */
  end(size: number): void {
    this.#size = size
  }

  /** All of a form that ends without a file, and has so many fields. Null where it has another part. */
  whole(fields: number): Buffer | null {
    const all = Buffer.concat(this.#head ?? [])
    const parts = this.#partsOf(all)
    const end = parts.findIndex(({ text }) => text.startsWith('--'))
    return end === fields && parts.slice(0, end).every(isOfForm) ? all : null
  }

  /** Where the boundary before each part stands, and what follows it. */
  #partsOf(bytes: Buffer): { readonly at: number; readonly text: string }[] {
    // The first boundary may stand at the beginning: the line break before it is put there.
    const [before = '', ...texts] = `\r\n${bytes.toString('latin1')}`.split(this.#delimiter)
    let at = before.length
    return texts.map((text) => {
      const part = { at, text }
      at += this.#delimiter.length + text.length
      return part
    })
  }

  #keep(chunk: Buffer): void {
    this.#tail.push(chunk)
    this.#kept += chunk.length
    while (this.#kept - this.#tail[0]!.length > this.#most) this.#kept -= this.#tail.shift()!.length
  }
}

function isOfForm({ text }: { readonly text: string }): boolean {
  const head = headOf(text)
  return head !== null && LABEL.test(head)
}
