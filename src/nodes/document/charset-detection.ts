// Bytes of a text file as its text, in whatever charset it is written.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { detectByteOrderMark } from '../shared/charset.ts'
import type { InputFile } from '../shared/file-inputs.ts'

/** In bytes: as many as the longest HTML that is read may have. */
const MOST_BYTES = 6_000_000

/** Browsers look for a declaration within so many bytes. */
const DECLARATION_BYTES = 1_024

/** @throws NodeError `too_large`, `bad_file`, `bad_input` for a charset that nobody knows */
export function decodeDocument({ bytes, content_type }: InputFile, requestedCharset: string | null): string {
  if (bytes.length > MOST_BYTES)
    throw new NodeError(`The file has more than ${MOST_BYTES.toLocaleString('en')} bytes.`, 'too_large')
  const decoder =
    createDecoder(requestedCharset) ??
    createDecoder(detectByteOrderMark(bytes)) ??
    createDecoder(charsetOfContentType(content_type)) ??
    createDecoder(charsetOfMetaTag(bytes))
  if (requestedCharset !== null && requestedCharset.trim() !== '' && !createDecoder(requestedCharset))
    throw new NodeError('There is no charset of that name.', 'bad_input')
  try {
    return (decoder ?? createDecoder('utf-8')!).decode(bytes)
  } catch {
    throw new NodeError('The file is not in the charset that it says, or that is asked for.', 'bad_file')
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
  // Whoever reads the declaration as single bytes knows that it is not written in pairs of them.
  return charset && /^utf-?16/i.test(charset) ? 'utf-8' : charset
}
