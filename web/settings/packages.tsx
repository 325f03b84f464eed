import { useState } from 'preact/hooks'
import type { InstalledSkillResponse } from '../../src/api/installed-skills.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { InstallForm, type InstallOrder } from './install-form.tsx'
import { Loaded } from './loaded.tsx'
import { type Offer, Offers } from './offers.tsx'
import { PackageRow } from './package-row.tsx'

/** What can be done with skills, and with plugins. */
export interface PackageVerbs {
  list(signal: AbortSignal): Promise<InstalledSkillResponse[]>
  offers(signal: AbortSignal): Promise<Offer[]>
  install(order: InstallOrder): Promise<unknown>
  enable(name: string, enabled: boolean): Promise<unknown>
  refresh(name: string): Promise<unknown>
  remove(name: string): Promise<unknown>
}

export interface PackagesProps {
  title: string
  hint: string
  none: string
  /** The words on the button. */
  install: string
  verbs: PackageVerbs
}

export function Packages({ title, hint, none, install, verbs }: PackagesProps) {
  const load = useLoad(verbs.list)
  const [isAdding, setAdding] = useState(false)
  return (
    <div class="group stack">
      <div class="settings-lead">
        <h3>{title}</h3>
        <p class="quiet">{hint}</p>
      </div>
      <Loaded load={load}>
        {installed =>
          installed.length === 0 ? (
            !isAdding && <p class="quiet">{none}</p>
          ) : (
            <ul class="settings-list">
              {installed.map(one => (
                <PackageRow key={one.name} installed={one} verbs={verbs} onChange={load.again} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {isAdding ? (
        <InstallForm
          label={install}
          install={verbs.install}
          onCancel={() => setAdding(false)}
          onDone={async () => {
            setAdding(false)
            await load.again()
          }}
        />
      ) : (
        <div class="row">
          <button type="button" onClick={() => setAdding(true)}>
            {install}
          </button>
        </div>
      )}
      <Offers
        label={t('{title} offered by your marketplaces', { title })}
        read={verbs.offers}
        install={async source => {
          await verbs.install({ source })
          await load.again()
        }}
      />
    </div>
  )
}
