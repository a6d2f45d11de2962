// What a document may hold, and the faults of those that hold more.
import { MediaFault } from '../../fault.ts'

/** In characters, of all text of one document: as much as a node gives. */
export const MOST_DOCUMENT_TEXT = 10_000_000

export function guardDocumentText(length: number): void {
  if (length <= MOST_DOCUMENT_TEXT) return
  const most = MOST_DOCUMENT_TEXT.toLocaleString('en')
  throw new MediaFault('too_large', `The document has more than ${most} characters of text.`)
}

/** In the words of a task what a library throws of a file: whatever it is, the file has led it there. */
export async function mapDocumentErrors<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    throw new MediaFault('bad_file', `${what} is damaged: it cannot be read.`, { cause: error })
  }
}
