// Decodes the bytes of a text file in whatever charset they are written.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { detectByteOrderMark } from '../shared/charset.ts'
import type { InputFile } from '../shared/file-inputs.ts'

/** In bytes: the size of the longest HTML that is read. */
const MOST_BYTES = 6_000_000

/** In bytes. Browsers look for a declaration within this range. */
const DECLARATION_BYTES = 1_024

/** @throws NodeError `too_large`, `bad_file`, `bad_input` for an unknown charset */
export function decodeDocument({ bytes, content_type }: InputFile, requestedCharset: string | null): string {
  if (bytes.length > MOST_BYTES)
    throw new NodeError(`The file has more than ${MOST_BYTES.toLocaleString('en')} bytes.`, 'too_large')
  const decoder =
    createDecoder(requestedCharset) ??
    createDecoder(detectByteOrderMark(bytes)) ??
    createDecoder(charsetOfContentType(content_type)) ??
    createDecoder(charsetOfMetaTag(bytes))
  if (requestedCharset !== null && requestedCharset.trim() !== '' && !createDecoder(requestedCharset))
    throw new NodeError('There is no charset with that name.', 'bad_input')
  try {
    return (decoder ?? createDecoder('utf-8')!).decode(bytes)
  } catch {
    throw new NodeError('The file is not valid in the charset that it declares or that the node sets.', 'bad_file')
  }
}

function createDecoder(charset: string | null): InstanceType<typeof TextDecoder> | null {
  if (charset === null || charset.trim() === '') return null
  try {
    return new TextDecoder(charset.trim(), { fatal: true })
  } catch {
    return null
  }
}

function charsetOfContentType(content_type: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(content_type ?? '')?.[1] ?? null
}

function charsetOfMetaTag(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1')
  const charset = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(start)?.[1] ?? null
  // If the declaration is readable as single bytes, the file cannot be UTF-16.
  return charset && /^utf-?16/i.test(charset) ? 'utf-8' : charset
}
