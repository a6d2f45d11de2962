// The interface of everything that answers a conversation. HTTP, chat and sockets use it for models and workflows
// alike.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { ModelPart } from '../../engine/node-api/services/models.ts'
import type { ModelCallOptions } from '../../models/calls/model-service.ts'

/** The parts that a model gives. The first part of a workflow's answer names its job. */
export type AnswerPart = ModelPart | { readonly type: 'job'; readonly job_id: string; readonly workflow_id: string }

export interface AnswerGenerator {
  /**
   * Continues a conversation. `model` is `provider/name`, a bare name, or `workflow/<id>`. The caller reads the
   * generator to its end or calls `return`, which ends the call; a workflow's job runs on.
   * @throws ServiceError, with codes of the catalogue, before the first part or later; the signal's reason
   */
  answer(
    owner: OwnerScope,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void>
}
