// The operation of the tag `sdk` that lists the models that workflows may be given.
import type { OperationHandler } from '../../generated/operations.ts'
import { userKey } from '../db/scope.ts'
import { catalogueSteps } from '../models/catalogue-page.ts'
import { listedModels } from './listed-models.ts'
import type { RequestContext } from './request.ts'

export const sdkModels: { listModelCatalog: OperationHandler<'listModelCatalog', RequestContext> } = {
  async listModelCatalog({ query }, { app, principal, signal }) {
    const listed = await listedModels(app, principal, signal)
    const page = catalogueSteps(listed, query, app.config.default_provider)
    return { status: 200, body: await app.reading.begin(userKey(principal), page) }
  },
}
