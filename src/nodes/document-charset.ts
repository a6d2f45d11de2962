// Bytes of a text file as its text, in whatever charset it is written.
import { NodeError } from '../engine/node-error.ts'
import { marked } from './charset.ts'
import type { TakenFile } from './files.ts'

/** In bytes: as many as the longest HTML that is read may have. */
const MOST_BYTES = 6_000_000

/** Browsers look for a declaration within so many bytes. */
const DECLARED_WITHIN = 1_024

/** @throws NodeError `too_large`, `bad_file`, `bad_input` for a charset that nobody knows */
export function documentText({ bytes, content_type }: TakenFile, asked: string | null): string {
  if (bytes.length > MOST_BYTES)
    throw new NodeError(`The file has more than ${MOST_BYTES.toLocaleString('en')} bytes.`, 'too_large')
  const decoder =
    decoderOf(asked) ?? decoderOf(marked(bytes)) ?? decoderOf(named(content_type)) ?? decoderOf(declared(bytes))
  if (asked !== null && asked.trim() !== '' && !decoderOf(asked))
    throw new NodeError('There is no charset of that name.', 'bad_input')
  try {
    return (decoder ?? decoderOf('utf-8')!).decode(bytes)
  } catch {
    throw new NodeError('The file is not in the charset that it says, or that is asked for.', 'bad_file')
  }
}

function decoderOf(charset: string | null): InstanceType<typeof TextDecoder> | null {
  if (charset === null || charset.trim() === '') return null
  try {
    return new TextDecoder(charset.trim(), { fatal: true })
  } catch {
    return null
  }
}

function named(content_type: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(content_type ?? '')?.[1] ?? null
}

function declared(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.subarray(0, DECLARED_WITHIN)).toString('latin1')
  const charset = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(start)?.[1] ?? null
  // Whoever reads the declaration as single bytes knows that it is not written in pairs of them.
  return charset && /^utf-?16/i.test(charset) ? 'utf-8' : charset
}
