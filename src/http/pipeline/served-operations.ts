// Which operations this server serves, which of them the operator has switched off, and which forward their body.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import type { Config } from '../../config.ts'

type OperationSwitches = Pick<Config, 'sdk_lifecycle' | 'sdk_lifecycle_preview'>

/** The implemented operations; with the preview, also planned ones that can be tried. All others are unknown paths. */
export function listServedOperations({ sdk_lifecycle_preview }: OperationSwitches): OperationInfo[] {
  return operationManifest.filter(
    ({ implementation, preview }) => implementation === 'implemented' || (preview && sdk_lifecycle_preview),
  )
}

/** Whether a served operation answers `SDK_LIFECYCLE_DISABLED` to callers with access. */
export function isSwitchedOff(operation: OperationInfo, { sdk_lifecycle }: OperationSwitches): boolean {
  return operation.switch === 'sdk_lifecycle' && !sdk_lifecycle
}

/** Whether an operation forwards the text of its body unchanged, and so needs it until it ends. */
export function isBodyForwarded({ errors }: Pick<OperationInfo, 'errors'>): boolean {
  return errors === 'openai'
}
