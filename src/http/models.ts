// Operations of the tag `models`, by what they are about.
import type { ModelsHandlers } from '../../generated/operations.ts'
import { completions } from './completions.ts'
import { modelLists } from './model-lists.ts'
import type { RequestContext } from './request.ts'

export const models: ModelsHandlers<RequestContext> = {
  ...completions,
  ...modelLists,
}
