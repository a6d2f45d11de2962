// What answers a conversation, whichever model or workflow that is: the one shape that doors, chat and sockets build upon.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { ModelPart } from '../../engine/node-api/node-services.ts'
import type { ModelCallOptions } from '../../models/calls/model-service.ts'

/** Parts as models give them. The first one of a workflow's answer names its job. */
export type AnswerPart = ModelPart | { readonly type: 'job'; readonly job_id: string; readonly workflow_id: string }

export interface AnswerGenerator {
  /**
   * Continues a conversation; `model` is `provider/name`, a bare name, or `workflow/<id>`. To be run to its end, or ended with `return`, which
   * ends the call; the job of a workflow runs on.
   * @throws ServiceError, with codes of the catalogue, before the first part or later; the signal's reason
   */
  answer(
    owner: OwnerScope,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void>
}
