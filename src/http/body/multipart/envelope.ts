// What stands around the file of a form, as it comes: the parts before it, which are kept until it begins, and what is behind it. The parser leaves
// out whatever it does not know, and says nothing of it; here it is seen.
import { FILE_PART_NAME } from '../upload-errors.ts'
import { parseBoundary, parsePartHead } from './part-headers.ts'

/** What makes a part one of a form (RFC 7578, section 4.2). */
const FORM_DATA_DISPOSITION = /^content-disposition:[ \t]*form-data[ \t]*(?:;|$)/im
const FILE_DISPOSITION = new RegExp(`^content-disposition:.*;[ \\t]*name="?${FILE_PART_NAME}"?[ \\t]*(?:;|$)`, 'im')

/** A form up to its file. */
export interface FormHead {
  /** The fields. */
  readonly field_bytes: Buffer
  /** The part of the file, from its boundary on, as far as it came. */
  readonly file_bytes: Buffer
}

export class MultipartEnvelope {
  readonly #max_bytes: number
  /** What stands between parts. */
  readonly #delimiter: string
  #received = 0
  /** What came so far, until the file begins. */
  #head: Buffer[] | null = []
  /** Where the file begins. */
  #file_start = 0
  /** Bytes of the file, once it has ended. */
  #file_bytes: number | null = null
  /** What came last of the file and of what is behind it: at least as much as may stand around it. */
  #tail: Buffer[] = []
  #tail_bytes = 0

  /** Of a form of this type, around whose file `most` bytes may stand. */
  constructor(form_type: string, max_bytes: number) {
    this.#max_bytes = max_bytes
    this.#delimiter = `\r\n--${parseBoundary(form_type)}`
  }

  get received(): number {
    return this.#received
  }

  /** Whether too much surely stands around the file: until its end is known, all that comes may belong to it. */
  get isTooLarge(): boolean {
    return this.#file_bytes !== null && this.#received - this.#file_bytes > this.#max_bytes
  }

  /** Whether nothing is behind the file. To be asked when the form has come whole, of a file that has ended. */
  get isFileLast(): boolean {
    const behind = this.#received - this.#file_start - (this.#file_bytes ?? 0)
    const tail = Buffer.concat(this.#tail)
    return tail.toString('latin1', tail.length - behind).startsWith(`${this.#delimiter}--`)
  }

  /** Takes a piece, and says whether by now there is too much. */
  push(chunk: Buffer): boolean {
    // As long as the file has not begun, it may begin in this piece.
    const before = this.#head === null ? 0 : this.#received
    this.#received += chunk.length
    if (this.#head) this.#head.push(chunk)
    else this.#appendTail(chunk)
    return before > this.#max_bytes || this.isTooLarge
  }

  /** The file begins in the last piece, behind so many fields. Null where another part stands before it. */
  beginFile(fields: number): FormHead | null {
    const head = Buffer.concat(this.#head ?? [])
    this.#head = null
    const parts = this.#splitParts(head).slice(0, fields + 1)
    const file = parts[fields]
    if (!file || !FILE_DISPOSITION.test(parsePartHead(file.text) ?? '') || !parts.every(isFormPart)) return null
    this.#file_start = file.at + this.#delimiter.length - 2 + file.text.indexOf('\r\n\r\n') + 4
    this.#appendTail(head.subarray(this.#file_start))
    return { field_bytes: head.subarray(0, file.at), file_bytes: head.subarray(file.at) }
  }

  /** The file has ended, and has so many bytes. */
  endFile(size: number): void {
    this.#file_bytes = size
  }

  /** All of a form that ends without a file, and has so many fields. Null where it has another part. */
  takeCompleteForm(fields: number): Buffer | null {
    const all = Buffer.concat(this.#head ?? [])
    const parts = this.#splitParts(all)
    const end = parts.findIndex(({ text }) => text.startsWith('--'))
    return end === fields && parts.slice(0, end).every(isFormPart) ? all : null
  }

  /** Where the boundary before each part stands, and what follows it. */
  #splitParts(bytes: Buffer): { readonly at: number; readonly text: string }[] {
    // The first boundary may stand at the beginning: the line break before it is put there.
    const [before = '', ...texts] = `\r\n${bytes.toString('latin1')}`.split(this.#delimiter)
    let at = before.length
    return texts.map((text) => {
      const part = { at, text }
      at += this.#delimiter.length + text.length
      return part
    })
  }

  #appendTail(chunk: Buffer): void {
    this.#tail.push(chunk)
    this.#tail_bytes += chunk.length
    while (this.#tail_bytes - this.#tail[0]!.length > this.#max_bytes) this.#tail_bytes -= this.#tail.shift()!.length
  }
}

function isFormPart({ text }: { readonly text: string }): boolean {
  const head = parsePartHead(text)
  return head !== null && FORM_DATA_DISPOSITION.test(head)
}
