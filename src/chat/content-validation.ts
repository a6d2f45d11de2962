// Refuses content parts that no model can receive. The contract says which parts a message of each role may have.
import type { ContentPart, MessageContent } from '../../generated/types.ts'
import { locateMedia } from '../completions/requests/media-loader.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { type Problem, ServiceError } from '../errors.ts'

/**
 * `at` is the JSON pointer of the content in the request.
 * @throws INVALID_REQUEST with every part that cannot be sent
 */
export function validateContent(content: MessageContent, at: string): void {
  if (content === null || typeof content === 'string') return
  const problems = content.flatMap((part, index) => findPartProblems(part, `${at}/${index}`))
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', { problems })
}

function findPartProblems(part: ContentPart, at: string): Problem[] {
  if (part.type === 'image_url') return findUrlProblems('image_url', part.image_url.url, `${at}/image_url/url`)
  if (part.type === 'input_audio')
    return findUrlProblems('input_audio', part.input_audio.data, `${at}/input_audio/data`)
  if (part.type !== 'file') return []
  const { file_data, file_id } = part.file
  if (file_data) return findUrlProblems('file', file_data, `${at}/file/file_data`)
  return file_id ? [] : [{ path: `${at}/file`, message: 'a file needs file_data or file_id' }]
}

/** Checks only the form: whether the content can be loaded is known when a model is called. */
function findUrlProblems(type: Parameters<typeof locateMedia>[0], value: string, path: string): Problem[] {
  try {
    locateMedia(type, value)
    return []
  } catch (error) {
    if (error instanceof NodeError) return [{ path, message: error.message }]
    throw error
  }
}
