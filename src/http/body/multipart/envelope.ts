// Checks the envelope of a form while it comes: the parts before the file, which are kept until it begins, and the bytes after it. The parser skips
// parts that it does not know without notice.
import { FILE_PART_NAME } from '../upload-errors.ts'
import { parseBoundary, parsePartHead } from './part-headers.ts'

/** The header that every part of a form needs (RFC 7578, section 4.2). */
const FORM_DATA_DISPOSITION = /^content-disposition:[ \t]*form-data[ \t]*(?:;|$)/im
const FILE_DISPOSITION = new RegExp(`^content-disposition:.*;[ \\t]*name="?${FILE_PART_NAME}"?[ \\t]*(?:;|$)`, 'im')

/** A form up to its file. */
export interface FormHead {
  /** The fields. */
  readonly field_bytes: Buffer
  /** The part of the file from its boundary on, as far as it was received. */
  readonly file_bytes: Buffer
}

export class MultipartEnvelope {
  readonly #max_bytes: number
  readonly #delimiter: string
  #received = 0
  /** All chunks before the file begins; null after. */
  #head: Buffer[] | null = []
  /** The offset of the file in the form. */
  #file_start = 0
  /** The size of the file, once it has ended. */
  #file_bytes: number | null = null
  /** The last bytes of the file and of what comes after it: at least as many as the envelope may have. */
  #tail: Buffer[] = []
  #tail_bytes = 0

  /** The envelope of a form of this type, which may have `max_bytes`. */
  constructor(form_type: string, max_bytes: number) {
    this.#max_bytes = max_bytes
    this.#delimiter = `\r\n--${parseBoundary(form_type)}`
  }

  get received(): number {
    return this.#received
  }

  /** Whether the envelope is surely too large: until the end of the file is known, all bytes may belong to the file. */
  get isTooLarge(): boolean {
    return this.#file_bytes !== null && this.#received - this.#file_bytes > this.#max_bytes
  }

  /** Whether nothing follows the file. Call this when the whole form was received, and its file has ended. */
  get isFileLast(): boolean {
    const trailing_bytes = this.#received - this.#file_start - (this.#file_bytes ?? 0)
    const tail = Buffer.concat(this.#tail)
    return tail.toString('latin1', tail.length - trailing_bytes).startsWith(`${this.#delimiter}--`)
  }

  /** Takes a chunk. Returns whether the envelope is too large by now. */
  push(chunk: Buffer): boolean {
    // Until the file has begun, it may begin in this chunk.
    const before = this.#head === null ? 0 : this.#received
    this.#received += chunk.length
    if (this.#head) this.#head.push(chunk)
    else this.#appendTail(chunk)
    return before > this.#max_bytes || this.isTooLarge
  }

  /** Marks that the file begins in the last chunk, after `fields` fields. Null if another part stands before it. */
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

  /** Marks the end of the file. */
  endFile(size: number): void {
    this.#file_bytes = size
  }

  /** The bytes of a form that ends without a file, and has `fields` fields. Null if it has another part. */
  takeCompleteForm(fields: number): Buffer | null {
    const all = Buffer.concat(this.#head ?? [])
    const parts = this.#splitParts(all)
    const end = parts.findIndex(({ text }) => text.startsWith('--'))
    return end === fields && parts.slice(0, end).every(isFormPart) ? all : null
  }

  /** The offset of the boundary before each part, and the text after it. */
  #splitParts(bytes: Buffer): { readonly at: number; readonly text: string }[] {
    // The first boundary may stand at the beginning without a line break, which is added here.
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
