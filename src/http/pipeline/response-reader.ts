// Who reads an answer, as the account of held answers knows it. Made where an answer is large, and not before.
import type { Response } from 'express'
import type { ResponseBuffers, ResponseReader } from '../../net/response-buffers.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import { callerKey, localsOf } from './response-locals.ts'

/** The reader of an answer. Where it is cut, the answer breaks off, so that nobody takes it for whole. */
export function getResponseReader(response: Response, held: ResponseBuffers): ResponseReader {
  const locals = localsOf(response)
  if (locals.reader) return locals.reader
  const reader = held.createReader(callerKey(response), () => {
    if (locals.cancelUnstarted) locals.cancelUnstarted()
    else response.destroy()
  })
  locals.reader = reader
  if (response.closed) reader.end()
  else onResponseClose(response, () => reader.end())
  return reader
}
