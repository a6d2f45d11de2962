// Operations of the tag `models` that ask a model, in the form of OpenAI. The lists are in model-lists.ts.
import type { ModelsHandlers } from '../../../generated/operations.ts'
import type { ChatCompletion, EmbeddingList } from '../../../generated/types.ts'
import { AnswerStream } from '../../completions/answers/stream.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { modelListHandlers } from './model-lists.ts'

export const modelsHandlers: ModelsHandlers<RequestContext> = {
  ...modelListHandlers,

  async createChatCompletion({ body }, context) {
    const completing = context.app.models.completions.complete({ ...createModelCall(context), body })
    const { headers, body: given } = await (body.stream ? completing : context.whileAuthenticated(completing))
    if (!(given instanceof AnswerStream)) return { ...createJsonTextReply<ChatCompletion, 200>(200, given), headers }
    // Proxies that gather answers would hold pieces back.
    const unbuffered = { ...headers, 'X-Accel-Buffering': 'no' }
    return { status: 200, content_type: 'text/event-stream', body: given, headers: unbuffered }
  },

  async createEmbedding({ body }, context) {
    const embedding = context.app.models.completions.embed({ ...createModelCall(context), body })
    const { body: given } = await context.whileAuthenticated(embedding)
    return createJsonTextReply<EmbeddingList, 200>(200, given as Uint8Array | string)
  },
}

function createModelCall(context: RequestContext) {
  const { principal, request_id, abandoned } = context
  return { owner: principal, raw: context.takeText(), request_id, gone: abandoned, revoked: () => context.revoked }
}
