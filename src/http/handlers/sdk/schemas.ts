// Operations of the tag `sdk` that serve the publication of the lifecycle profile. They ignore the switch of the profile.
import type { OperationHandler, OperationReply } from '../../../../generated/operations.ts'
import type { LifecycleIndex } from '../../../../generated/types.ts'
import { ServiceError } from '../../../errors.ts'
import { createJsonTextReply } from '../../pipeline/reply.ts'
import type { RequestContext } from '../../pipeline/request-context.ts'
import { readPublishedFile, readPublishedIndex } from '../lifecycle-publication.ts'

type FileReply = Extract<OperationReply<'getLifecycleSchemaFile'>, { status: 200; content_type?: never }>

export const sdkSchemasHandlers: {
  listLifecycleSchemas: OperationHandler<'listLifecycleSchemas', RequestContext>
  getLifecycleSchemaFile: OperationHandler<'getLifecycleSchemaFile', RequestContext>
} = {
  async listLifecycleSchemas({ headers: conditions }) {
    const { text, headers } = await readPublishedIndex(conditions['if-none-match'])
    return text === null
      ? { status: 304, headers }
      : { ...createJsonTextReply<LifecycleIndex, 200>(200, text), headers }
  },

  async getLifecycleSchemaFile({ path, headers: conditions }) {
    const file = await readPublishedFile(path.name, conditions['if-none-match'])
    if (!file) throw new ServiceError('NOT_FOUND')
    const { text, content_type, headers } = file
    if (text === null) return { status: 304, headers }
    if (content_type !== 'application/json') return { status: 200, content_type: 'text/plain', body: text, headers }
    return { ...createJsonTextReply<FileReply['body'], 200>(200, text), headers }
  },
}
