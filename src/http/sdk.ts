// Operations of the tag `sdk`, the lifecycle profile, by what they are about.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { RequestContext } from './request.ts'
import { discovery } from './sdk-discovery.ts'
import { sdkJobs } from './sdk-jobs.ts'
import { sdkModels } from './sdk-models.ts'
import { preflight } from './sdk-preflight.ts'
import { sdkSchemas } from './sdk-schemas.ts'
import { sdkUploads } from './sdk-uploads.ts'

export const sdk: SdkHandlers<RequestContext> = {
  ...discovery,
  ...preflight,
  ...sdkJobs,
  ...sdkModels,
  ...sdkSchemas,
  ...sdkUploads,
}
