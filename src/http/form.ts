// A form as it is parsed while it comes. Whatever is wrong with one has its answer here; the file ends for whoever reads it only when the whole
// request was found good.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy, { type FieldInfo, type FileInfo } from 'busboy'
import type { ServiceError } from '../errors.ts'
import type { UploadPace } from '../net/upload-pace.ts'
import { whenBroken } from './broken.ts'
import { Around } from './form-around.ts'
import {
  bad,
  broken,
  malformed,
  noBoundary,
  notLast,
  notOfForm,
  PART,
  tooLarge,
  tooMuchAround,
  wrongWith,
} from './form-faults.ts'
import { type Fields, fieldPath, LARGEST_FIELD, MOST_FIELDS, wrongWithParts } from './form-fields.ts'
import { goOn } from './going-on.ts'
import { charsetOfPart } from './part-head.ts'

/** The file of a form. */
export interface SentFile {
  readonly stream: Readable
  readonly info: FileInfo
  readonly charset: string | null
}

export interface FormRules {
  /** Bytes of the file. */
  readonly largest: number
  readonly pace: UploadPace
  /** Bytes that may come around it. */
  readonly around: number
  /** Where the parts before it go; null where it is to be the only one. */
  readonly fields: Fields | null
}

export class Form {
  readonly #incoming: IncomingMessage
  readonly #rules: FormRules
  readonly #parser: busboy.Busboy
  readonly #file = Promise.withResolvers<SentFile | null>()
  readonly #whole = Promise.withResolvers<void>()
  /** What is wrong, once something is. */
  #fault: ServiceError | null = null
  readonly #paced: Disposable
  #ended = false
  readonly #around: Around
  #files = 0
  /** Parts before the file. */
  #before = 0

  constructor(incoming: IncomingMessage, rules: FormRules) {
    const { fields, pace } = rules
    this.#incoming = incoming
    this.#rules = rules
    this.#parser = parserOf(incoming, fields ? FIELDS_LIMITS : FILE_LIMITS)
    this.#around = new Around(incoming.headers['content-type']!, rules.around)
    this.#paced = pace.watch(incoming, () => this.fail(broken('came to a halt')))
    // Whoever waits for one of them hears of a fault; the other must not bring the process down.
    for (const { promise } of [this.#file, this.#whole]) promise.catch(() => null)
    this.#parser.on('file', (name, stream, info) => this.#found(name, stream, info))
    if (fields) this.#parser.on('field', (name, value, info) => this.#field(fields, name, value, info))
    this.#parser.on('fieldsLimit', () => this.fail(fields ? tooMany() : unnamed()))
    // Also of one that the parser leaves out, as it is not labelled as form data.
    this.#parser.on('partsLimit', () => this.fail(fields ? tooMany() : bad('/body', 'holds more than one part')))
    this.#parser.on('error', (error) => this.fail(malformed(error)))
    this.#parser.on('finish', () => this.#finish())
    incoming.once('error', this.#cut)
    incoming.once('close', this.#cut)
    incoming.on('data', this.#count)
    whenBroken(incoming, (fault) => this.fail(fault))
    goOn(incoming)
    if (incoming.destroyed) this.#cut()
    else if (!this.#ended) incoming.pipe(this.#parser)
  }

  /** Comes when the file does; null at the end of a form without one. */
  get file(): Promise<SentFile | null> {
    return this.#file.promise
  }

  async *bytes(stream: Readable): AsyncGenerator<Uint8Array> {
    let size = 0
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        size += chunk.length
        if (size > this.#rules.largest) throw tooLarge(this.#rules.largest)
        yield chunk
      }
      this.#around.end(size)
      if (this.#around.isTooMuch) throw tooMuchAround(this.#rules.around)
      await this.#whole.promise
      // What came between the end of the file and this reader's word of it was counted as if it might belong to the file.
      if (this.#around.isTooMuch) throw tooMuchAround(this.#rules.around)
      if (!this.#around.isLast) throw notLast()
    } catch (error) {
      // The stream breaks off with an error of the parser's own.
      throw this.#fault ?? error
    }
    if (size === 0 && !this.#rules.fields) throw bad(`/body/${PART}`, 'is empty')
  }

  fail(error: ServiceError): void {
    if (this.#ended) return
    this.#end()
    this.#fault = error
    this.#file.reject(error)
    this.#whole.reject(error)
    this.#incoming.unpipe(this.#parser)
    // It may be in the middle of a piece, and has to come back from it.
    queueMicrotask(() => this.#parser.destroy(error))
    // Of a long body this is the beginning of its end (unread.ts); a short one makes room for the next request.
    this.#incoming.resume()
  }

  #finish(): void {
    if (this.#ended) return
    const { fields } = this.#rules
    if (this.#files === 0) {
      const wrong = fields
        ? wrongWithParts(fields, this.#around.whole(this.#before))
        : bad(`/body/${PART}`, 'is required')
      if (wrong) return this.fail(wrong)
    }
    this.#end()
    this.#file.resolve(null)
    this.#whole.resolve()
  }

  #end(): void {
    this.#ended = true
    this.#paced[Symbol.dispose]()
    this.#incoming.off('error', this.#cut).off('close', this.#cut).off('data', this.#count)
    // Errors of a request that nobody listens for would be thrown.
    this.#incoming.on('error', () => {})
  }

  #found(name: string | undefined, stream: Readable, info: FileInfo): void {
    // What was broken off says so to whoever reads it; nobody may.
    stream.on('error', () => {})
    const { fields } = this.#rules
    // What is sent as a file under a field's name is the field.
    if (fields && name !== PART && this.#files === 0) {
      this.#before += 1
      return fields.read(name, stream, info, (wrong) => this.fail(wrong))
    }
    this.#files += 1
    const begun = this.#files === 1 ? this.#around.begin(this.#before) : null
    const wrong = this.#fault ?? wrongWith(name, info, this.#files) ?? wrongWithParts(fields, begun?.before ?? null)
    if (begun && wrong === null) {
      const charset = charsetOfPart(begun.part, this.#incoming.headers['content-type']!, info.mimeType)
      return this.#file.resolve({ stream, info, charset })
    }
    stream.resume()
    this.fail(wrong ?? notOfForm())
  }

  #field(fields: Fields, name: string | undefined, value: string, info: FieldInfo): void {
    if (this.#files === 0) this.#before += 1
    const behind = this.#files > 0 ? bad(fieldPath(name), 'stands behind the file, which comes last') : null
    const wrong = behind ?? fields.add(name, value, info)
    if (wrong) this.fail(wrong)
  }

  readonly #cut = (): void => {
    if (!this.#incoming.readableEnded) this.fail(broken('was cut off'))
  }

  readonly #count = (chunk: Buffer): void => {
    const { largest, around } = this.#rules
    if (this.#around.push(chunk)) this.fail(tooMuchAround(around))
    else if (this.#around.received > largest + around) this.fail(tooLarge(largest))
  }
}

const FILE_LIMITS = { fields: 0, parts: 2 }
const FIELDS_LIMITS = { fields: MOST_FIELDS, fieldSize: LARGEST_FIELD + 1, parts: MOST_FIELDS + 2 }

function unnamed(): ServiceError {
  return bad('/body', 'holds a part that is no file: it has no filename')
}

function tooMany(): ServiceError {
  return bad('/body', `holds more than ${MOST_FIELDS} fields`)
}

/** @throws INVALID_REQUEST where the header says no boundary */
function parserOf({ headers }: IncomingMessage, limits: busboy.Limits): busboy.Busboy {
  try {
    return busboy({ headers, defParamCharset: 'utf8', limits })
  } catch (error) {
    throw noBoundary(error)
  }
}
