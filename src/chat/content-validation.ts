// Parts that no model could be sent, of which no thread holds one. Which ones a message of each role may have is in the contract.
import type { ContentPart, MessageContent } from '../../generated/types.ts'
import { locateMedia } from '../completions/requests/media-loader.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { type Problem, ServiceError } from '../errors.ts'

/** `at` is the pointer of the content in the request. @throws INVALID_REQUEST with every part that nobody can be sent */
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
  return file_id ? [] : [{ path: `${at}/file`, message: 'a file has file_data or a file_id' }]
}

/** Whether what stands at an address can be had is known when a model is asked. */
function findUrlProblems(type: Parameters<typeof locateMedia>[0], value: string, path: string): Problem[] {
  try {
    locateMedia(type, value)
    return []
  } catch (error) {
    if (error instanceof NodeError) return [{ path, message: error.message }]
    throw error
  }
}
