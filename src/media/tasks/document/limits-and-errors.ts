// The limit for the text of a document, and the errors of document tasks.
import { MediaFault } from '../../fault.ts'

/** In characters, for all text of one document: the limit of a node's text. */
export const MOST_DOCUMENT_TEXT = 10_000_000

export function guardDocumentText(length: number): void {
  if (length <= MOST_DOCUMENT_TEXT) return
  const most = MOST_DOCUMENT_TEXT.toLocaleString('en')
  throw new MediaFault('too_large', `The document has more than ${most} characters of text.`)
}

/** Converts any error of a library to `bad_file`: the file has caused it. */
export async function mapDocumentErrors<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    throw new MediaFault('bad_file', `${what} is damaged: it cannot be read.`, { cause: error })
  }
}
