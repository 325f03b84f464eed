import type { Action } from '../api/actions.ts'
import type { SecurityRisk } from '../api/security.ts'
import { lastingness, secrecy, spelled } from './rails/paths.ts'
import { type Level, worst } from './rails/rule.ts'
import { judgeShell, unreadable } from './rails/shell.ts'

/** What a rail says of an action, and to people why. */
export interface Railed {
  risk: SecurityRisk
  rule?: string
  why?: string
}

/**
 * Judges an action by fixed rules, without running anything and without a model. Rails see through quoting, wrappers and
 * shells in shells, but not into files: a script that was written before and is now run by name is judged by its name.
 */
export function rails(action: Action, readOnly = false): Railed {
  switch (action.kind) {
    case 'TerminalAction':
      return judgeShell(String(action.command))
    case 'FileEditorAction':
    case 'PlanningFileEditorAction':
      return action.command === 'view' ? reads([action.path]) : writes([action.path])
    case 'ReadFileAction':
      return reads([action.file_path])
    case 'GrepAction':
      return reads([action.path ?? '', action.include ?? ''])
    case 'WriteFileAction':
    case 'EditAction':
      return writes([action.file_path])
    case 'ApplyPatchAction':
      return writes(patched(action.patch))
    case 'BrowserNavigateAction':
      return browses(action.url)
    case 'BrowserClickAction':
    case 'BrowserTypeAction':
    case 'BrowserGetStorageAction':
    case 'BrowserSetStorageAction':
      return { risk: 'MEDIUM', rule: 'browser', why: 'Acts on a web page, or handles its cookies' }
    case 'WorkflowAction':
      return { risk: 'MEDIUM', rule: 'workflow', why: 'Runs a script of its own' }
    case 'TaskTrackerAction':
    case 'FinishAction':
    case 'ThinkAction':
    case 'GlobAction':
    case 'ListDirectoryAction':
    case 'TaskAction':
    case 'DelegateAction':
    case 'InvokeSkillAction':
    case 'SwitchLLMAction':
    case 'VisionInspectAction':
    case 'BrowserScrollAction':
    case 'BrowserGetStateAction':
    case 'BrowserGetContentAction':
    case 'BrowserGoBackAction':
    case 'BrowserListTabsAction':
    case 'BrowserSwitchTabAction':
    case 'BrowserCloseTabAction':
    case 'BrowserStartRecordingAction':
    case 'BrowserStopRecordingAction':
      return { risk: 'LOW' }
    default:
      return readOnly
        ? { risk: 'LOW' }
        : { risk: 'UNKNOWN', rule: 'foreign-tool', why: 'What this tool does is not known here' }
  }
}

const above = (risk: Level, rule: string, why: string): Railed => (risk === 'LOW' ? { risk } : { risk, rule, why })

const reads = (paths: string[]): Railed =>
  above(worst(paths.map(path => secrecy(spelled(path)))), 'credentials', 'Reads keys, passwords or tokens')

const writes = (paths: string[]): Railed =>
  paths.length === 0
    ? unreadable
    : above(
        worst(paths.map(path => lastingness(spelled(path)))),
        'lasting-write',
        'Writes a file that is run or trusted later: start-up files, hooks, CI, system settings',
      )

/** The files that a patch names. */
const patched = (patch: string): string[] =>
  [
    ...patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) (?:[ab]\/)?)(.+)$/gm),
  ].map(([, path = '']) => path.trim())

const browses = (url: string): Railed =>
  /^\s*(file|javascript|data|chrome|about:(?!blank)):?/i.test(url) || /169\.254\.169\.254|metadata\.google/i.test(url)
    ? { risk: 'HIGH', rule: 'browser', why: 'Opens local files, runs script or asks the cloud for credentials' }
    : { risk: 'LOW' }
