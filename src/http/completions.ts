// Operations of the tag `models` that ask a model: in OpenAI's form, thin over what answers.
import type { ModelsHandlers } from '../../generated/operations.ts'
import type { ChatCompletion, EmbeddingList } from '../../generated/types.ts'
import { AnswerStream } from '../completions/answer-stream.ts'
import { jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'

type Asking = Pick<ModelsHandlers<RequestContext>, 'createChatCompletion' | 'createEmbedding'>

export const completions: Asking = {
  async createChatCompletion({ body }, context) {
    const { headers, body: given } = await context.app.completions.complete({ ...asked(context), body })
    if (!(given instanceof AnswerStream)) return { ...jsonText<ChatCompletion, 200>(200, given), headers }
    // Proxies that gather answers would hold pieces back.
    const unbuffered = { ...headers, 'X-Accel-Buffering': 'no' }
    return { status: 200, content_type: 'text/event-stream', body: given, headers: unbuffered }
  },

  async createEmbedding({ body }, context) {
    const { body: given } = await context.app.completions.embed({ ...asked(context), body })
    return jsonText<EmbeddingList, 200>(200, given as Uint8Array | string)
  },
}

function asked(context: RequestContext) {
  const { principal, request_id, abandoned } = context
  return { owner: principal, raw: context.takeText(), request_id, gone: abandoned, revoked: () => context.revoked }
}
