// The fields of a form: strings in UTF-8, each of them once. The handler of the form validates their values.
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { FieldInfo } from 'busboy'
import type { ServiceError } from '../../../errors.ts'
import { appendToPointer } from '../../../shared/validation-problems.ts'
import { invalidInputError, notFormDataError, PLAIN_TRANSFER_ENCODINGS } from '../upload-errors.ts'

/** Bytes. */
export const MAX_FIELD_BYTES = 65_536
export const MAX_FIELDS = 32

/** The parser's replacement for bytes that are no character. */
const REPLACEMENT = '\ufffd'

type FieldErrorListener = (wrong: ServiceError) => void

export class FormFields {
  readonly #values = new Map<string, string>()
  readonly #reading: Promise<void>[] = []

  /**
   * All fields, once those that come as files are read.
   * @throws the error of such a field
   */
  async values(): Promise<ReadonlyMap<string, string>> {
    await Promise.all(this.#reading)
    return this.#values
  }

  /** Adds a field. Returns its error, or null. */
  add(
    name: string | undefined,
    value: string,
    info: Pick<FieldInfo, 'valueTruncated' | 'encoding'>,
  ): ServiceError | null {
    if (!name) return invalidInputError('/body', 'contains a field without a name')
    const path = fieldPath(name)
    if (this.#values.has(name)) return invalidInputError(path, 'occurs more than once')
    if (info.valueTruncated) return invalidInputError(path, `has more than ${MAX_FIELD_BYTES} bytes`)
    if (!PLAIN_TRANSFER_ENCODINGS.includes(info.encoding))
      return invalidInputError(path, 'has a Content-Transfer-Encoding; send the text unencoded')
    this.#values.set(name, value)
    return null
  }

  /** As `add`, for a field that comes as a file, as browsers send a Blob. */
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
    // If the form breaks off, no caller awaits its fields.
    reading.catch(() => {})
  }

  /** The error if `bytes`, of which the fields were parsed, are not UTF-8, else null: the parser decodes any bytes. */
  validateUtf8(bytes: Uint8Array): ServiceError | null {
    if (isUtf8(bytes)) return null
    const [name] = [...this.#values].find(([, value]) => value.includes(REPLACEMENT)) ?? []
    return invalidInputError(fieldPath(name), 'is not valid UTF-8')
  }
}

/** The error of the bytes of all fields, if any. `bytes` is null if a part among them is no form data. */
export function validateFieldBytes(fields: FormFields | null, bytes: Buffer | null): ServiceError | null {
  return bytes === null ? notFormDataError() : (fields?.validateUtf8(bytes) ?? null)
}

/** The path of a field in problems. */
export function fieldPath(name: string | undefined): string {
  return name ? appendToPointer('/body', name) : '/body'
}

/** Keeps more than `MAX_FIELD_BYTES` only to tell that the field is too long. Null if the bytes are not UTF-8. */
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
