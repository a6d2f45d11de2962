// The fields of a form: texts in UTF-8, each of them once. What they mean is judged by whoever asked for the form.
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { FieldInfo } from 'busboy'
import type { ServiceError } from '../../../errors.ts'
import { appendToPointer } from '../../../shared/validation-problems.ts'
import { invalidInputError, notFormDataError, PLAIN_TRANSFER_ENCODINGS } from '../upload-errors.ts'

/** Bytes. */
export const MAX_FIELD_BYTES = 65_536
export const MAX_FIELDS = 32

/** What a parser puts in the place of bytes that are no character. */
const REPLACEMENT = '\ufffd'

type FieldErrorListener = (wrong: ServiceError) => void

export class FormFields {
  readonly #values = new Map<string, string>()
  readonly #reading: Promise<void>[] = []

  /** All of them, when those that come as files were read. @throws what is wrong with one of these */
  async values(): Promise<ReadonlyMap<string, string>> {
    await Promise.all(this.#reading)
    return this.#values
  }

  /** Takes a field, and gives what is wrong with it, or null. */
  add(
    name: string | undefined,
    value: string,
    info: Pick<FieldInfo, 'valueTruncated' | 'encoding'>,
  ): ServiceError | null {
    if (!name) return invalidInputError('/body', 'holds a field without a name')
    const path = fieldPath(name)
    if (this.#values.has(name)) return invalidInputError(path, 'is there more than once')
    if (info.valueTruncated) return invalidInputError(path, `has more than ${MAX_FIELD_BYTES} bytes`)
    if (!PLAIN_TRANSFER_ENCODINGS.includes(info.encoding))
      return invalidInputError(path, 'has a Content-Transfer-Encoding; texts are sent as they are')
    this.#values.set(name, value)
    return null
  }

  /** As `add`, of a field that comes as a file: as browsers send a Blob. */
  readFileField(
    name: string | undefined,
    stream: Readable,
    { encoding }: { encoding: string },
    onError: FieldErrorListener,
  ): void {
    const reading = readFieldText(stream).then((text) => {
      const wrong =
        text === null
          ? invalidInputError(fieldPath(name), 'is not valid UTF-8')
          : this.add(name, text, { encoding, valueTruncated: Buffer.byteLength(text) > MAX_FIELD_BYTES })
      if (!wrong) return
      onError(wrong)
      throw wrong
    })
    this.#reading.push(reading)
    // Of a form that breaks off nobody asks for the fields.
    reading.catch(() => {})
  }

  /** What is wrong with the bytes that the fields were read from, or null: the parser reads them as UTF-8 whatever they are. */
  validateUtf8(bytes: Uint8Array): ServiceError | null {
    if (isUtf8(bytes)) return null
    const [name] = [...this.#values].find(([, value]) => value.includes(REPLACEMENT)) ?? []
    return invalidInputError(fieldPath(name), 'is not valid UTF-8')
  }
}

/** What is wrong with the bytes of all fields, where there may be any; they are null where a part among them is none of a form. */
export function validateFieldBytes(fields: FormFields | null, bytes: Buffer | null): ServiceError | null {
  return bytes === null ? notFormDataError() : (fields?.validateUtf8(bytes) ?? null)
}

/** Where a field stands in the body. */
export function fieldPath(name: string | undefined): string {
  return name ? appendToPointer('/body', name) : '/body'
}

/** At most one byte more than a field may have; null for what is no UTF-8. */
async function readFieldText(stream: Readable): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (size <= MAX_FIELD_BYTES) chunks.push(chunk)
    size += chunk.length
  }
  const bytes = Buffer.concat(chunks)
  return isUtf8(bytes) ? bytes.toString() : null
}
