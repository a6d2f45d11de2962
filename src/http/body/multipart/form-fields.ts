// The fields of a form: strings in UTF-8, each of them once. The handler of the form validates their values.
import { isUtf8 } from 'node:buffer'
import { appendToPointer } from '../../../shared/validation-problems.ts'
import { invalidInputError, PLAIN_TRANSFER_ENCODINGS } from '../upload-errors.ts'
import type { PartHead } from './part-head.ts'

/** Bytes. */
export const MAX_FIELD_BYTES = 65_536
export const MAX_FIELDS = 32

export class FormFields {
  readonly values = new Map<string, string>()
  #count = 0
  /** The field that is being received. */
  #head: PartHead | null = null
  #chunks: Buffer[] = []
  #size = 0

  /** Begins the next field. @throws INVALID_REQUEST if there are too many */
  begin(head: PartHead): void {
    this.#count += 1
    if (this.#count > MAX_FIELDS) throw invalidInputError('/body', `contains more than ${MAX_FIELDS} fields`)
    this.#head = head
    this.#chunks = []
    this.#size = 0
  }

  /** Keeps no more bytes than it takes to tell that the field is too long. */
  append(bytes: Buffer): void {
    if (this.#size <= MAX_FIELD_BYTES) this.#chunks.push(bytes)
    this.#size += bytes.length
  }

  /** Ends the field. @throws INVALID_REQUEST if it is not valid */
  end(): void {
    const { name = null, encoding } = this.#head ?? {}
    if (name === null) throw invalidInputError('/body', 'contains a field without a name')
    const path = fieldPath(name)
    if (this.values.has(name)) throw invalidInputError(path, 'occurs more than once')
    if (this.#size > MAX_FIELD_BYTES) throw invalidInputError(path, `has more than ${MAX_FIELD_BYTES} bytes`)
    if (!PLAIN_TRANSFER_ENCODINGS.includes(encoding ?? ''))
      throw invalidInputError(path, 'has a Content-Transfer-Encoding; send the text unencoded')
    const bytes = Buffer.concat(this.#chunks)
    if (!isUtf8(bytes)) throw invalidInputError(path, 'is not valid UTF-8')
    this.values.set(name, bytes.toString())
  }
}

/** The path of a field in problems. */
export function fieldPath(name: string | null): string {
  return name === null ? '/body' : appendToPointer('/body', name)
}
