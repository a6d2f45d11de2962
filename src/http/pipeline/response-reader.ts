// The reader of a response in the account of held responses. Created for large responses only.
import type { Response } from 'express'
import type { ResponseBuffers, ResponseReader } from '../../net/response-buffers.ts'
import { onResponseClose } from '../connection/response-close-callbacks.ts'
import { callerKey, localsOf } from './response-locals.ts'

/** The reader of a response. If the reader is cut, the response breaks off, so that the client does not take it for complete. */
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
