import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import type { Session } from '../conversation/session.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'
import { t } from '../words.ts'
import { ChangesTab } from './changes-tab.tsx'
import { type Dropped, dropped } from './dropped.ts'
import { FilesTab } from './files-tab.tsx'
import { list } from './listing.ts'
import { type Place, shown } from './place.ts'
import { PortsTab } from './ports-tab.tsx'
import { TerminalTab } from './terminal-tab.tsx'
import { openTree } from './tree.ts'
import { UploadList } from './upload-list.tsx'
import { makeUploads } from './uploads.ts'

type Key = 'files' | 'changes' | 'terminal' | 'ports'

const TABS = (): readonly Tab<Key>[] => [
  { key: 'files', label: t('Files'), icon: 'folder' },
  { key: 'changes', label: t('Changes'), icon: 'branch' },
  { key: 'terminal', label: t('Terminal'), icon: 'terminal' },
  { key: 'ports', label: t('Ports'), icon: 'globe' },
]

export interface WorkspacePaneProps {
  place: Place
  session: Session
  tab: string
  onTab: (tab: string) => void
}

/** The four tabs, and files that are dropped on any of them. */
export function WorkspacePane({ place, session, tab, onTab }: WorkspacePaneProps) {
  const { toasts } = useApp()
  const tree = useMemo(() => openTree(place), [place])
  const uploads = useMemo(() => makeUploads(place), [place])
  const runs = useRuns(session)
  const tabs = TABS()
  const current = tabs.find(({ key }) => key === tab)?.key ?? 'files'
  // A shell that somebody opened goes on behind the other tabs.
  const terminalUsed = useRef(false)
  terminalUsed.current ||= current === 'terminal'

  const [asked, setAsked] = useState<{ files: readonly Dropped[]; folder: string; taken: readonly string[] }>()
  const take = async (files: readonly Dropped[], folder = tree.target()) => {
    const taken = await takenNames(place, folder, files)
    if (taken.length > 0) setAsked({ files, folder, taken })
    else await send(files, folder)
  }
  const send = async (files: readonly Dropped[], folder: string) => {
    const arrived = await uploads.send(files, folder)
    if (arrived === 0) return
    const where = folder === place.root ? t('the working directory') : shown(place, folder)
    const text = arrived === 1 ? '{n} file is now in {where}.' : '{n} files are now in {where}.'
    toasts.say(t(text, { n: arrived, where }))
    await tree.refresh()
  }
  const { over, handlers } = useDrop((files, folder) => files.then(all => take(all, folder)).catch(toasts.complain))

  return (
    <section class="workspace" aria-label={t('Workspace')} {...handlers}>
      <Tabs label={t('Workspace')} tabs={tabs} current={current} onSelect={onTab}>
        {current === 'files' && (
          <FilesTab place={place} tree={tree} runs={runs} onUpload={files => take(files).catch(toasts.complain)} />
        )}
        {current === 'changes' && <ChangesTab place={place} runs={runs} />}
        {terminalUsed.current && <TerminalTab conversation={session.id} shown={current === 'terminal'} />}
        {current === 'ports' && <PortsTab place={place} runs={runs} />}
      </Tabs>
      <UploadList uploads={uploads} />
      {asked && (
        <Confirm
          title={t('Replace what is there?')}
          yes={t('Replace')}
          onClose={() => setAsked(undefined)}
          action={async () => void send(asked.files, asked.folder)}
        >
          <p>
            {t('{folder} already has: {names}', { folder: shown(place, asked.folder), names: asked.taken.join(', ') })}
          </p>
        </Confirm>
      )}
      {over && (
        <div class="workspace-drop">
          <Icon name="upload" />
          {t('Drop files to upload them')}
        </div>
      )}
    </section>
  )
}

/** What of these is in the folder already. */
async function takenNames({ api }: Place, folder: string, files: readonly Dropped[]): Promise<string[]> {
  const there = new Set((await list(api, [folder])).get(folder)?.entries.map(({ name }) => name))
  return [...new Set(files.map(({ path }) => path.split('/')[0]!))].filter(name => there.has(name))
}

/** Counts runs that came to rest: what they changed is to be read again. */
function useRuns(session: Session): number {
  const isRunning = session.conversation.value?.execution_status === 'running'
  const [runs, setRuns] = useState(0)
  const was = useRef(isRunning)
  useEffect(() => {
    if (was.current && !isRunning) setRuns(n => n + 1)
    was.current = isRunning
  }, [isRunning])
  return runs
}

/** On a folder of the tree they go there. */
function useDrop(take: (files: Promise<Dropped[]>, folder: string | undefined) => void) {
  const [over, setOver] = useState(false)
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
  const handlers = {
    onDragOver(event: DragEvent) {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    },
    onDragLeave(event: DragEvent) {
      const { currentTarget, relatedTarget } = event
      if (!(currentTarget as Element).contains(relatedTarget as Node | null)) setOver(false)
    },
    onDrop(event: DragEvent) {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(false)
      const folder = (event.target as Element).closest<HTMLElement>('[data-folder]')?.dataset.folder
      take(dropped(event.dataTransfer!), folder)
    },
  }
  return { over, handlers }
}
