// Operations of the tag `assets`: files and folders with a row. The bundled packages are in asset-packages.ts.
import type { AssetsHandlers, OperationReply } from '../../generated/operations.ts'
import { credentialOf } from '../access/principal.ts'
import { packagesOfAssets } from './asset-packages.ts'
import { assetFields } from './create-asset.ts'
import { openForm } from './multipart.ts'
import { objectReply } from './object-reply.ts'
import type { RequestContext } from './request.ts'
import { tellingLater } from './room.ts'

export const assets: AssetsHandlers<RequestContext> = {
  ...packagesOfAssets,

  async listAssets({ query }, { app, principal }) {
    return { status: 200, body: await app.library.list(principal, query) }
  },

  async createAsset(_request, { app, principal, incoming }) {
    using form = await openForm(incoming, { largest: app.config.max_upload_bytes, pace: app.upload_pace })
    const asset = await app.library.create(principal, assetFields(form.fields), form.file).catch((error) => {
      throw tellingLater(error)
    })
    return { status: 201, body: asset, headers: { Location: `/api/assets/${asset.id}` } }
  },

  getAsset({ path, query: { expires_in } }, { app, principal }) {
    const link = expires_in ? { expires_in, credential: credentialOf(principal, app.platform.now()) } : null
    return { status: 200, body: app.library.get(principal, path.id, link) }
  },

  async updateAsset({ path, body }, { app, principal }) {
    return { status: 200, body: await app.library.update(principal, path.id, body) }
  },

  async deleteAsset({ path }, { app, principal }) {
    await app.library.delete(principal, path.id)
    return { status: 204 }
  },

  async downloadAsset({ path, headers }, { app, principal }) {
    const file = await app.library.file(principal, path.id)
    return (await objectReply(headers, file, { saved: true })) as OperationReply<'downloadAsset'>
  },
}
