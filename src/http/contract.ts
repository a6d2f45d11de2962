import type { ContractHandlers } from '../../generated/operations.ts'
import { ServiceError } from '../errors.ts'
import { documents } from './document.ts'
import type { RequestContext } from './request.ts'
export const contract: ContractHandlers<RequestContext> = {
  getOpenapiDocument: () => ({ status: 200, body: documents.openapi() as never }),
  getAsyncapiDocument: () => ({ status: 200, body: documents.asyncapi() as never }),
  getReference: () => ({ status: 200, content_type: 'text/html', body: '<!doctype html>' }),
  getReferenceFile() {
    throw new ServiceError('NOT_FOUND')
  },
}
