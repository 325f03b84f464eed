import { useEffect } from 'preact/hooks'
import { useApp } from '../app.ts'
import type { Session } from '../conversation/session.ts'
import { Loading, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { Asleep } from './asleep.tsx'
import { findPlace, type Place } from './place.ts'
import { WorkspacePane } from './workspace-pane.tsx'

export interface WorkspaceViewProps {
  session: Session
  /** Which tab: files, changes, terminal, ports. */
  tab: string
  onTab: (tab: string) => void
}

const WAKING_MS = 1000

const AWAKE: readonly Place['status'][] = ['RUNNING', 'STARTING']

/** Where the agent works. To look at a conversation wakes no sandbox: that is asked for. */
export function WorkspaceView({ session, tab, onTab }: WorkspaceViewProps) {
  const apis = useApp()
  const conversation = session.conversation.value
  const folder = conversation?.workspace.working_dir
  const { value, problem, again, set } = useLoad(
    async signal => (folder === undefined ? undefined : findPlace(apis, { id: session.id, folder }, signal)),
    [session.id, folder],
  )
  const status = conversation?.execution_status
  const asleep = value && !AWAKE.includes(value.status)
  // A run wakes it, sooner or later.
  useEffect(() => {
    if (!asleep) return
    again()
    if (status !== 'running') return
    const timer = setInterval(again, WAKING_MS)
    return () => clearInterval(timer)
  }, [asleep, status])
  if (!value) return problem === undefined ? <Loading /> : <Problem error={problem} again={again} />
  if (asleep) return <Asleep place={value} onAwake={() => set({ ...value, status: 'RUNNING' })} />
  return <WorkspacePane place={value} session={session} tab={tab} onTab={onTab} />
}
