// Which operations this server serves, which of them its operator has switched off, and which hand on what they are sent.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import type { Config } from '../../config.ts'

type OperationSwitches = Pick<Config, 'sdk_lifecycle' | 'sdk_lifecycle_preview'>

/** What is implemented, and with the preview what is planned and can be tried. Anything else answers as an unknown path does. */
export function listServedOperations({ sdk_lifecycle_preview }: OperationSwitches): OperationInfo[] {
  return operationManifest.filter(
    ({ implementation, preview }) => implementation === 'implemented' || (preview && sdk_lifecycle_preview),
  )
}

/** Whether an operation that is served answers `SDK_LIFECYCLE_DISABLED` to whoever may call it. */
export function isSwitchedOff(operation: OperationInfo, { sdk_lifecycle }: OperationSwitches): boolean {
  return operation.switch === 'sdk_lifecycle' && !sdk_lifecycle
}

/** Whether an operation hands the text of its body on as it came, and needs it for as long as that takes. */
export function isBodyForwarded({ errors }: Pick<OperationInfo, 'errors'>): boolean {
  return errors === 'openai'
}
